/** Effects of this kind are machines that an operation has made as clones. */
export const operationCloneKind = 'operation-clone'

/** Effects of this kind are stale saved states: their machine has run since. */
export const savedStateDropKind = 'saved-state-drop'

/** Debts of these kinds do not touch the machine of the operation, so the next operation need not wait for them. */
export const nonBlockingEffects: readonly string[] = [operationCloneKind, savedStateDropKind]

/** Why the removal of a saved state is a debt: the state is still stored at the platform. */
export const staleStateOwed = {
  code: 'saved-state-stale',
  class: 'transient',
  message: 'The machine has run since its memory was saved: nothing can be woken from it.',
  remedy: 'It is removed by itself as soon as a worker and the platform are there.',
} as const
