import { lockMachine } from '../../db/queries/machine-rows.ts'
import type { ActingTurn } from '../inventory/power-machine.ts'
import { fencedAtEnd } from '../inventory/turn.ts'

/**
 * The turn of a job at a machine. Its transactions lock the machine before the job, as whoever asks for another
 * operation does: the other way round the two would wait for each other.
 */
export const atMachine = (turn: ActingTurn, machineId: string): ActingTurn => ({
  db: turn.db,
  job: turn.job,
  get signal() {
    return turn.signal
  },
  get checkpointed() {
    return turn.checkpointed
  },
  transaction: (change) =>
    fencedAtEnd(turn, async (tx) => {
      await lockMachine(tx, machineId)
      return change(tx)
    }),
  safePoint: () => turn.safePoint(),
  progress: (progress) => turn.progress(progress),
  checkpoint: (state) => turn.checkpoint(state),
  effect: (spec) => turn.effect(spec),
  holder: () => turn.holder(),
})
