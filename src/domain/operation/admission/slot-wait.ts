import type { OperationReason } from '../kinds/reasons.ts'

/** Reasons for which Drover itself holds an operation back: no call goes to the target meanwhile. */
const heldBack: readonly OperationReason[] = ['awaiting-slot', 'no-host-fits']

/** Whether this reason is a slot wait: the deadline is paused; the wait timeout runs. */
export const isSlotWait = (reason: OperationReason): boolean => heldBack.includes(reason)
