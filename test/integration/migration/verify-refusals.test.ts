import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import type { EntryRow } from '../../../db/schema/migration.ts'
import { extentBytes } from '../../../src/migration/copy/extent-map.ts'
import { driveEntry } from '../../support/drive-entry.ts'
import { differences, entryOf, overlapsOf, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld, resolveEntry, shopScript } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const { from, to } = world

beforeEach(() => world.setBatch({}))

const certificatesOf = async (id: string): Promise<number> => {
  const [row] = await db<{ count: number }[]>`
    select count(*)::int as count from certificate where entry_id = ${id}::uuid`
  return row?.count ?? 0
}

/** Nothing was vouched for, and no second copy runs. */
const expectRefused = async (entry: EntryRow): Promise<EntryRow> => {
  const after = await entryOf(db, entry.id)
  expect(after.certificateId).toBeNull()
  expect(await certificatesOf(entry.id)).toBe(0)
  expect(await powerOf(to, entry.machineRef ?? '')).toBe('off')
  expect(await overlapsOf(lab)).toEqual([])
  return after
}

const edit = (ref: string, body: object) => lab.admin(`PATCH /lab/sites/vcenter/instances/${ref}`, body)
const start = (ref: string) => from.done(`POST /instances/${ref}/power`, { verb: 'start' })

/** Its disks as they would be shown if each had a mebibyte more. */
const grownDisks = async (ref: string) => {
  const { json } = await from.call(`GET /instances/${ref}`)
  const { facts } = json as { facts: { disks: { capacity: number }[] } }
  return facts.disks.map((disk) => ({ ...disk, capacity: disk.capacity + 1_048_576 }))
}

describe('what changed at the source', () => {
  test('another UUID is another machine: nobody but a person goes on, not even by force', async () => {
    const entry = await world.ready('vm-101')
    await edit('vm-101', { uuid: '42000000-0000-4000-8000-00000000beef' })
    await start('vm-101')
    await world.verify(entry.id, { force: true })
    const after = await expectRefused(entry)
    expect(after).toMatchObject({ state: 'error', reason: 'identity-changed' })
    // A machine that we do not know is not switched off either.
    expect(await powerOf(from, 'vm-101')).toBe('on')
    expect(after.jobId).toBeNull()
  })

  test.each([
    ['its name', 'vm-102', { name: 'renamed' }, 'name-changed'],
    ['its disks', 'vm-104', 'resize', 'disks-changed'],
  ] as const)(
    '%s: it fails, by force too, and its source is started again',
    async (_what, ref, how, code) => {
      const entry = await world.ready(ref)
      if (how === 'resize') await edit(ref, { facts: { disks: await grownDisks(ref) } })
      else await edit(ref, how)
      await world.verify(entry.id, { force: true })
      const after = await expectRefused(entry)
      expect(after).toMatchObject({ state: 'error', reason: code, error: { code } })
      // The withdrawal that starts the source again is at it.
      expect(after.jobId).not.toBeNull()
      await world.worker.finish(after.jobId ?? '')
      expect(await powerOf(from, ref)).toBe('on')
    },
  )

  test('a machine that is gone is a conflict, and with force it is not waited for', async () => {
    const entry = await world.ready('vm-110')
    await lab.admin('DELETE /lab/sites/vcenter/instances/vm-110')
    await world.verify(entry.id)
    expect(await expectRefused(entry)).toMatchObject({ state: 'conflict', reason: 'source-gone' })
    await resolveEntry(db, entry.id)
    await world.verify(entry.id, { force: true })
    expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished' })
  })

  test('a source that does not answer is asked again, and nothing is concluded', async () => {
    const entry = await world.ready('vm-109')
    await lab.admin('POST /lab/faults', {
      kind: 'error',
      call: 'instance',
      site: 'vcenter',
      machine: 'vm-109',
    })
    const job = await world.worker.follow(await sendTo(world, entry.id, 'final-verify'))
    await lab.admin('DELETE /lab/faults')
    expect(job).toMatchObject({ state: 'ready' })
    expect(await expectRefused(entry)).toMatchObject({ state: 'worker-done' })
    expect(await world.worker.finish(job.id)).toMatchObject({ state: 'succeeded' })
  })
})

/** Where the cards of a machine of the target are plugged in. */
const networksOf = async (ref: string | null): Promise<readonly string[]> => {
  const { json } = await to.call(`GET /instances/${ref}`)
  const { facts } = json as { facts: { nics: { network: string }[] } }
  return facts.nics.map(({ network }) => network)
}

describe('where it would land now', () => {
  const elsewhere = `${shopScript}\nconst before = placement
    placement = (instance, batch) => { before(instance, batch); setPool(instance.disks[0].key, 'ceph') }`
  test('another pool is a conflict that a resolve alone does not end; the diff is kept apart', async () => {
    const entry = await world.ready('vm-111')
    await world.setBatch({ config: { placement_scriptlet: elsewhere } })
    await world.verify(entry.id)
    const after = await expectRefused(entry)
    expect(after).toMatchObject({ state: 'conflict', stage: 'complete', reason: 'placement-changed' })
    expect(after.placement).toEqual(entry.placement)
    expect(after.facts).toEqual(entry.facts)
    expect(JSON.stringify(after.pending)).toContain('ceph')
    expect((after.pending as { diff: { path: string }[] }).diff.length).toBeGreaterThan(0)

    await resolveEntry(db, entry.id)
    await world.verify(entry.id)
    expect(await expectRefused(entry)).toMatchObject({ state: 'conflict', reason: 'placement-changed' })

    await resolveEntry(db, entry.id)
    await world.setBatch({})
    await world.verify(entry.id)
    expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished', pending: null })
  })

  test('with force the first placement stays, and the certificate says what was set aside', async () => {
    const entry = await world.ready('vm-106')
    await world.setBatch({
      config: { placement_scriptlet: elsewhere },
      defaults: { force_conflict_resolution: true },
    })
    await world.verify(entry.id)
    const after = await entryOf(db, entry.id)
    expect(after).toMatchObject({ state: 'finished', placement: entry.placement })
    const [row] = await db<{ document: { forced: boolean; ignored: { code: string }[] } }[]>`
      select document from certificate where entry_id = ${entry.id}::uuid`
    expect(row?.document.forced).toBe(true)
    expect(row?.document.ignored.map(({ code }) => code)).toContain('placement-changed')
  })

  test('force that was taken back since the start lets nothing through', async () => {
    const entry = await world.ready('vm-211')
    // As a start under force makes it.
    await db`update entry set force = true where id = ${entry.id}::uuid`
    await world.setBatch({ config: { placement_scriptlet: elsewhere } })
    await driveEntry(world, entry.id, ['conflict', 'finished'])
    expect(await expectRefused(entry)).toMatchObject({ state: 'conflict', reason: 'placement-changed' })
  })

  test('other networks are adopted, and the machine is plugged there before it starts', async () => {
    const entry = await world.ready('vm-107')
    const office = shopScript.replace("'bridge-shop', 'bridged', 10", "'bridge-office', 'bridged', 20")
    await world.setBatch({ config: { placement_scriptlet: office } })
    const job = await world.verify(entry.id)
    const after = await entryOf(db, entry.id)
    expect([after.state, after.reason, after.message, job.error]).toMatchObject([
      'finished',
      'verified',
      {},
      null,
    ])
    expect(JSON.stringify(after.placement)).toContain('bridge-office')
    expect(after.running).toBe(true)
    expect(await networksOf(entry.machineRef)).toEqual(['bridge-office'])
  })

  test('networks that were adopted for a start that failed are not kept when they are what they were', async () => {
    const entry = await world.ready('vm-103')
    const office = shopScript.replace("'bridge-shop', 'bridged', 10", "'bridge-office', 'bridged', 20")
    await world.setBatch({ config: { placement_scriptlet: office, post_migration_retries: 0 } })
    const machine = entry.machineRef
    const refuse = { kind: 'error', call: 'start', site: 'cloud', machine, failure: 'refused' }
    await lab.admin('POST /lab/faults', { ...refuse, code: 'platform-refused' })
    expect(await world.verify(entry.id)).toMatchObject({ error: { code: 'target-start-failed' } })
    await lab.admin('DELETE /lab/faults')
    expect(await networksOf(machine)).toEqual(['bridge-office'])
    await resolveEntry(db, entry.id)
    await world.setBatch({})
    await world.verify(entry.id)
    const after = await entryOf(db, entry.id)
    expect(after).toMatchObject({ state: 'finished', placement: entry.placement })
    expect(await networksOf(machine)).toEqual(['bridge-shop'])
  })

  test('a script that fails is a conflict with its words', async () => {
    const entry = await world.ready('vm-209')
    await world.setBatch({
      config: { placement_scriptlet: 'function placement() { throw new Error("no room") }' },
    })
    await world.verify(entry.id)
    const after = await expectRefused(entry)
    expect(after).toMatchObject({ state: 'conflict', reason: 'placement-script-failed' })
    expect(after.message).toContain('no room')
  })
})

describe('the bytes', () => {
  // promise: certificate
  test('one bit that is another, wherever it is: no certificate, by force too; a retry mends it', async () => {
    const entry = await world.ready('vm-108')
    const [disk] = await listEntryDisks(db, entry.id)
    if (!disk) throw new Error('The entry has a disk.')
    const seed = Date.now()
    console.log(`offsets by seed ${seed}`)
    const anywhere = fc.sample(fc.nat(disk.capacity - 1), { numRuns: 4, seed })
    for (const offset of [5_000, 40 * extentBytes + 77, disk.capacity - 1, ...anywhere]) {
      const path = `/instances/${entry.machineRef}/disks/${disk.targetDisk}/bytes?offset=${offset}`
      const { bytes } = await to.call(`GET ${path}&length=1`)
      const { status } = await to.call(`PUT ${path}`, Buffer.from([(bytes[0] ?? 0) ^ 0x10]))
      expect(status).toBeLessThan(300)
      await world.verify(entry.id, { force: true })
      const after = await expectRefused(entry)
      expect([offset, after.state, after.error?.code]).toEqual([offset, 'error', 'content-differs'])
      await world.worker.finish(after.jobId ?? '')
      expect(await powerOf(from, 'vm-108')).toBe('on')

      await db`update entry set state = 'idle', stage = 'final', job_id = null where id = ${entry.id}::uuid`
      await world.worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
      expect(await differences(world, await entryOf(db, entry.id))).toEqual([])
    }
    await world.verify(entry.id)
    expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished' })
  })
})

describe('a source that was started again', () => {
  test('and has written makes the copy stale, whatever force says; the bytes come with the next one', async () => {
    const entry = await world.ready('vm-105')
    await start('vm-105')
    await from.done('POST /instances/vm-105/power', { verb: 'stop' })
    await from.call('PUT /instances/vm-105/disks/2000/bytes?offset=9000', Buffer.from('late'))
    await start('vm-105')
    await world.verify(entry.id, { force: true })
    const after = await expectRefused(entry)
    expect(after).toMatchObject({ state: 'final-import', stage: 'final', reason: 'copy-stale' })
    expect(await powerOf(from, 'vm-105')).toBe('off')

    await world.worker.finish(await sendTo(world, entry.id, 'cutover-instance'))
    expect(await differences(world, await entryOf(db, entry.id))).toEqual([])
    const job = await world.verify(entry.id)
    expect([job.error, (await entryOf(db, entry.id)).state]).toEqual([null, 'finished'])
    const path = `/instances/${entry.machineRef}/disks/2000/bytes?offset=9000&length=4`
    const { bytes } = await to.call(`GET ${path}`)
    expect(bytes.toString()).toBe('late')
    expect((await effectsOf(db, job.id)).map(({ kind }) => kind)).toEqual(['target-fit', 'target-start'])
  })
})
