import { expect, test } from 'vitest'
import type { OperationRow } from '../../../db/schema/operation.ts'
import { nudge } from '../../../src/ledger/jobs/nudge.ts'
import { type AskedOperation, askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { onEachBell } from '../../support/bells.ts'
import { makeSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { addMachine } from '../../support/machines.ts'
import { expectAlive, startRoles } from '../../support/roles.ts'
import { until } from '../../support/wait.ts'

const sealer = createSealer('5e'.repeat(32))
/** More than all the slots there are, and than those of a lane twice over. */
const many = 100

await onEachBell('a target that hangs', ({ database: { db }, env }) => {
  /** A target on a lab of its own; gives how to ask a stop with force of one of its machines. */
  const addTarget = async (name: string) => {
    const lab = await createLab()
    const { id: targetId } = await makeSite(db, {
      ...{ role: 'target', name, connectivity: 'ok', quiet: true, sealer },
      ...{ endpoint: lab.endpoint('vcenter'), password: lab.password },
    })
    const stop = async (ref: string, cause: 'person' | 'policy' = 'person'): Promise<string> => {
      const machineId = await addMachine(db, { targetId, ref, power: 'on' })
      const { operation } = (await db.begin((tx) =>
        askOperation(tx, {
          ...{ machineId, kind: 'stop', force: true, params: {}, onConflict: 'reject', cause, by: 'test' },
          ...{ deadlineSeconds: 3_600, waitSeconds: 3_600 },
        }),
      )) as AskedOperation
      return operation.id
    }
    return { lab, stop }
  }

  const stateOf = async (id: string): Promise<string> => {
    const [row] = await db<OperationRow[]>`select state from operation where id = ${id}::uuid`
    return row?.state ?? ''
  }

  /** Of the target `dead`: how many turns hang at it, and how many have ever come to an end. */
  const hanging = async (): Promise<{ running: number; ended: number }> => {
    const [row] = await db<{ running: number; ended: number }[]>`
      select count(*) filter (where state = 'running')::int as running,
        (select count(*)::int from event e where e.from_state = 'running'
          and e.job_id in (select id from job where lane = 'machines/dead')) as ended
      from job where lane = 'machines/dead'`
    return row ?? { running: 0, ended: 0 }
  }

  // promise: hung-target
  test('delays no operation of another target, and none that is asked for later or matters less', async () => {
    const dead = await addTarget('dead')
    const living = await addTarget('living')
    await dead.lab.admin('POST /lab/faults', { kind: 'stall' })
    for (let at = 0; at < many; at += 1) await dead.stop(`vm-${at}`)
    const { conductors, workers } = await startRoles({ ...env, DROVER_DRAIN_MS: '500' })
    let before = -1
    await until(
      async () => {
        const { running } = await hanging()
        const isSteady = running > 0 && running === before
        before = running
        return isSteady
      },
      { what: 'the dead target to hold all that it can', everyMs: 500, withinMs: 60_000 },
    )
    // A turn that hangs ends after half a minute, whatever else there is: some are asked and done in between.
    const unhindered: string[] = []
    for (const [at, cause] of (['person', 'policy', 'person', 'policy', 'person'] as const).entries()) {
      const { ended } = await hanging()
      const id = await living.stop(`vm-10${at + 1}`, cause)
      nudge(db)
      await until(async () => (await stateOf(id)) === 'completed', {
        what: 'the stop at the living target to be done',
        withinMs: 25_000,
      })
      const after = await hanging()
      if (after.ended === ended && after.running > 0) unhindered.push(cause)
    }
    expect(unhindered).toEqual(expect.arrayContaining(['person', 'policy']))
    expectAlive(...conductors, ...workers)
  })
})
