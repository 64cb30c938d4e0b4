import type { OperationReason } from '../kinds/reasons.ts'

/** For these we hold an operation back ourselves: no target is asked for anything meanwhile. */
const heldBack: readonly OperationReason[] = ['awaiting-slot', 'no-host-fits']

/** Who waits for that stands in line: its deadline stands still, and its patience counts. */
export const isSlotWait = (reason: OperationReason): boolean => heldBack.includes(reason)
