import { expect, test } from 'vitest'
import { nudge } from '../../src/ledger/jobs/nudge.ts'
import { createSealer } from '../../src/seal/seal.ts'
import { entryOf, overlapsOf, powerOf, sendTo } from '../support/entry-world.ts'
import { type Armed, ending, onEachFleet } from '../support/fleet.ts'
import { checkInvariants } from '../support/invariants.ts'
import { createLab } from '../support/lab.ts'
import { effectsOf, jobOf } from '../support/ledger.ts'
import { createVerifyWorld } from '../support/verify-world.ts'
import { until } from '../support/wait.ts'

/** Where it dies: before the target is fitted, around its start, which is the second effect, and at the very end. */
const points: readonly Armed[] = [
  'kill:after-checkpoint',
  'kill:before-intent@2',
  'kill:after-intent@2',
  'kill:before-effect@2',
  'kill:after-effect@2',
  'kill:before-finish',
]

const refs = ['vm-101', 'vm-102', 'vm-104', 'vm-106', 'vm-107', 'vm-109']

await onEachFleet('kill -9 of a worker that verifies a machine', { workers: 0, anyBell: true }, (fleet) => {
  // promise: one-copy
  test('at every point: it is started once, certified once, and never beside its source', async () => {
    const lab = await createLab()
    const world = await createVerifyWorld(fleet.db, lab, { sealer: createSealer('5e'.repeat(32)) })
    // Only what this test sends is done.
    await fleet.db`update batch set state = 'stopped'`
    for (const [index, point] of fleet.share(points).entries()) {
      const entry = await world.ready(refs[index] ?? '')
      const machine = entry.machineRef ?? ''
      const armed = await fleet.worker(point)
      const id = await sendTo(world, entry.id, 'final-verify')
      nudge(fleet.db)
      expect((await ending(armed)).signal).toBe('SIGKILL')
      const heir = await fleet.worker()
      await fleet.ended([id])
      const { error } = await jobOf(fleet.db, id)
      expect([point, error]).toEqual([point, null])
      expect(await entryOf(fleet.db, entry.id)).toMatchObject({ state: 'finished', retries: 0 })
      expect(await powerOf(world.to, machine)).toBe('on')
      expect(await powerOf(world.from, String(entry.facts.ref))).toBe('off')
      const { json } = await lab.admin(`GET /lab/power?site=cloud&machine=${machine}`)
      const runs = (json as { power: { running: boolean; run_id: string }[] }).power
      expect(new Set(runs.filter(({ running }) => running).map((run) => run.run_id)).size).toBe(1)
      const effects = (await effectsOf(fleet.db, id)).map(({ kind, state }) => `${kind} ${state}`)
      expect(effects).toEqual(['target-fit done', 'target-start done'])
      const certificates = await fleet.db`select from certificate where entry_id = ${entry.id}::uuid`
      expect(certificates).toHaveLength(1)
      await heir.stop()
    }
    const keys = await fleet.db`select from signing_key`
    expect(keys).toHaveLength(1)
    expect(await overlapsOf(lab)).toEqual([])
    expect(await checkInvariants(fleet.db)).toEqual([])
  })

  test.each(fleet.share(['kill:before-undo', 'kill:after-undo'] as const))(
    '%s of a start that failed: the copy is off, the source too, and a person decides',
    async (point) => {
      const lab = await createLab()
      for (const table of ['entry', 'batch', 'instance', 'machine', 'certificate', 'site'])
        await fleet.db`delete from ${fleet.db(table)}`
      const world = await createVerifyWorld(fleet.db, lab, { sealer: createSealer('5e'.repeat(32)) })
      await world.setBatch({ config: { post_migration_retries: 0 } })
      await fleet.db`update batch set state = 'stopped'`
      const entry = await world.ready('vm-101')
      const start = { call: 'start', site: 'cloud', machine: entry.machineRef }
      await lab.admin('POST /lab/faults', {
        ...{ ...start, kind: 'error', code: 'platform-refused', failure: 'refused' },
      })
      const armed = await fleet.worker(point)
      const id = await sendTo(world, entry.id, 'final-verify')
      nudge(fleet.db)
      expect((await ending(armed)).signal).toBe('SIGKILL')
      await fleet.worker()
      await fleet.ended([id])
      expect((await jobOf(fleet.db, id)).error).toMatchObject({ code: 'target-start-failed' })
      expect((await effectsOf(fleet.db, id)).map(({ state }) => state)).toEqual(['undone', 'undone'])
      expect(await powerOf(world.to, entry.machineRef ?? '')).toBe('off')
      expect(await powerOf(world.from, 'vm-101')).toBe('off')
      const state = async () => (await entryOf(fleet.db, entry.id)).state
      await until(async () => (await state()) === 'conflict', {
        what: 'the entry to conflict',
        withinMs: 60_000,
      })
      expect((await entryOf(fleet.db, entry.id)).certificateId).toBeNull()
      expect(await checkInvariants(fleet.db)).toEqual([])
    },
  )
})
