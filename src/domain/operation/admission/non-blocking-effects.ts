/** Effects of this kind are machines that an operation makes as copies of others. */
export const operationCloneKind = 'operation-clone'

/** Effects of this kind are saved states that nobody needs any more: their machine has run since. */
export const savedStateDropKind = 'saved-state-drop'

/** What an operation has left of these kinds is not at its machine, which others need not wait for. */
export const nonBlockingEffects: readonly string[] = [operationCloneKind, savedStateDropKind]

/** Why a saved state is owed: it is still at the platform. */
export const staleStateOwed = {
  code: 'saved-state-stale',
  class: 'transient',
  message: 'The machine has run since its memory was saved: nothing can be woken from it.',
  remedy: 'It is removed by itself as soon as a worker and the platform are there.',
} as const
