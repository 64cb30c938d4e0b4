import { expect, test } from 'vitest'
import type { CrashPoint } from '../../src/crash-point.ts'
import { openLab } from '../../src/platforms/lab/lab.ts'
import { createSealer } from '../../src/seal/seal.ts'
import { ending, onEachFleet } from '../support/fleet.ts'
import { checkInvariants } from '../support/invariants.ts'
import { createInventoryWorker, instanceOf, makeSite } from '../support/inventory.ts'
import { createLab } from '../support/lab.ts'
import { effectsOf, stateOf } from '../support/ledger.ts'

const sealer = createSealer('5e'.repeat(32))
const lab = await createLab()

/** The runs of a machine so far: each start is one. */
const runsOf = async (ref: string): Promise<number> => {
  const { json } = await lab.admin(`GET /lab/power?site=vcenter&machine=${ref}`)
  const runs = (json as { power: { running: boolean; run_id: string }[] }).power
  return new Set(runs.filter(({ running }) => running).map((run) => run.run_id)).size
}

const points: readonly CrashPoint[] = [
  'after-checkpoint',
  'after-intent',
  'before-effect',
  'after-effect',
  'before-finish',
]

await onEachFleet('kill -9 of a worker that switches a machine', { workers: 0, anyBell: true }, (fleet) => {
  test.each(fleet.share(points))('at %s of a reset: the machine is started anew once', async (point) => {
    const name = `vc-${point}`
    for (const table of ['instance', 'site']) await fleet.db`delete from ${fleet.db(table)}`
    await makeSite(fleet.db, {
      ...{
        name,
        endpoint: lab.endpoint('vcenter'),
        password: lab.password,
        connectivity: 'ok',
        quiet: true,
        sealer,
      },
    })
    await createInventoryWorker(fleet.db, openLab, undefined, sealer).sync(name)
    const ref = `vm-${102 + points.indexOf(point)}`
    const { id: instance } = await instanceOf(fleet.db, name, ref)
    const before = await runsOf(ref)
    const armed = await fleet.worker(`kill:${point}`)
    const payload = { instance, verb: 'restart', force: true }
    const [id = ''] = await fleet.add(1, payload, {
      kind: 'power-instance',
      subject: { type: 'instance', id: instance },
    })
    expect((await ending(armed)).signal).toBe('SIGKILL')
    await fleet.worker()
    await fleet.ended([id])
    expect(await stateOf(fleet.db, id)).toBe('succeeded')
    expect(await runsOf(ref)).toBe(before + 1)
    expect(await effectsOf(fleet.db, id)).toHaveLength(1)
    expect(await checkInvariants(fleet.db)).toEqual([])
  })
})
