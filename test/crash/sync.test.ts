import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import type { CrashPoint } from '../../src/crash-point.ts'
import { createSealer } from '../../src/seal/seal.ts'
import { ending, type Fleet, onEachFleet } from '../support/fleet.ts'
import { checkInvariants } from '../support/invariants.ts'
import { instancesOf, makeSite, siteOf } from '../support/inventory.ts'
import { createLab } from '../support/lab.ts'
import { until } from '../support/wait.ts'

/** The key of the fleet's processes. */
const sealer = createSealer('5e'.repeat(32))
const lab = await createLab()
const machines = 24

const makeSource = async (fleet: Fleet): Promise<string> => {
  // Machines of one lab under two names would be each other's duplicates.
  for (const table of ['instance', 'network', 'host', 'storage', 'site', 'inventory_stage', 'warning'])
    await fleet.db`delete from ${fleet.db(table)}`
  const name = `vc-${uuidv7().slice(-8)}`
  const endpoint = lab.endpoint('vcenter')
  await makeSite(fleet.db, {
    name,
    endpoint,
    password: lab.password,
    sealer,
    connectivity: 'ok',
    quiet: true,
  })
  return name
}

const addSync = async (fleet: Fleet, source: string, mode: 'full' | 'delta'): Promise<string> => {
  const [id = ''] = await fleet.add(
    1,
    { source, mode },
    {
      kind: 'sync-source',
      subject: { type: 'source', id: source },
      tokens: [`site-sync/source.${source}`],
    },
  )
  return id
}

const eventCount = async (fleet: Fleet, type: string, subjects: readonly string[]): Promise<number> => {
  const rows =
    await fleet.db`select from event where type = ${type} and subject_id = any(${[...subjects]}::text[])`
  return rows.length
}

/** One consistent revision: nothing half, nothing twice, nothing left over. */
const expectWhole = async (fleet: Fleet, source: string, revision: number) => {
  const rows = await instancesOf(fleet.db, source)
  expect(rows.filter((row) => row.goneAt === null)).toHaveLength(machines)
  expect(new Set(rows.map((row) => row.ref)).size).toBe(rows.length)
  expect(rows.every((row) => row.revision <= revision && row.rulesVersion !== '')).toBe(true)
  expect(await siteOf(fleet.db, source)).toMatchObject({ revision, syncError: null })
  expect(await fleet.db`select from inventory_stage`).toHaveLength(0)
  expect(await checkInvariants(fleet.db)).toEqual([])
}

const points: readonly CrashPoint[] = [
  'after-stage',
  'before-merge',
  'mid-merge',
  'after-merge',
  'before-finish',
]

await onEachFleet('kill -9 of a worker that syncs', { workers: 0, anyBell: true }, (fleet) => {
  // promise: one-revision
  test.each(fleet.share(points))('at %s of a first sync: one consistent revision', async (point) => {
    const source = await makeSource(fleet)
    const armed = await fleet.worker(`kill:${point}`)
    const id = await addSync(fleet, source, 'full')
    expect((await ending(armed)).signal).toBe('SIGKILL')
    await fleet.worker()
    await fleet.ended([id])
    await expectWhole(fleet, source, 1)
  })

  // promise: one-revision
  test.each(fleet.share(['mid-merge', 'after-stage', 'after-merge'] as const))(
    'at %s of a delta: what changed is told once',
    async (point) => {
      const source = await makeSource(fleet)
      const first = await fleet.worker()
      await fleet.ended([await addSync(fleet, source, 'full')])
      await first.stop()
      const description = `changed before ${point} by ${source}`
      await lab.admin('PATCH /lab/sites/vcenter/instances/vm-101', { facts: { description } })
      const armed = await fleet.worker(`kill:${point}`)
      const id = await addSync(fleet, source, 'delta')
      expect((await ending(armed)).signal).toBe('SIGKILL')
      await fleet.worker()
      await fleet.ended([id])
      await expectWhole(fleet, source, 2)
      const [row] = (await instancesOf(fleet.db, source)).filter((item) => item.ref === 'vm-101')
      expect(row).toMatchObject({ revision: 2, facts: { description } })
      expect(await eventCount(fleet, 'instance.changed', [row?.id ?? ''])).toBe(1)
    },
  )

  test('nobody has to ask: a new source is checked, read, and read again when it is due', async () => {
    const source = await makeSource(fleet)
    await fleet.db`update site set connectivity = 'unknown', next_check_at = now()`
    await fleet.worker()
    const revisionIs = (revision: number) =>
      until(async () => (await siteOf(fleet.db, source)).revision === revision, {
        what: `the inventory to be at revision ${revision}`,
        withinMs: 60_000,
      })
    await revisionIs(1)
    await lab.admin('PATCH /lab/sites/vcenter/instances/vm-102', {
      facts: { description: `seen by ${source}` },
    })
    await fleet.db`update site set next_sync_at = now()`
    await revisionIs(2)
    await expectWhole(fleet, source, 2)
  })

  // promise: one-revision
  test('two syncs asked for at once, one with its worker frozen in the merge: one revision', async () => {
    const source = await makeSource(fleet)
    const frozen = await fleet.worker('stop:mid-merge')
    const one = await addSync(fleet, source, 'full')
    const two = await addSync(fleet, source, 'full')
    await frozen.frozen()
    await fleet.worker()
    await fleet.ended([one, two])
    await frozen.crash()
    await expectWhole(fleet, source, 1)
  })
})
