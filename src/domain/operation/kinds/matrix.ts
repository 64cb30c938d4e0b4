import { type OperationVariant, operationVariants, variantText } from './kinds.ts'

/** Which newer operations take the place of an older one. Everything else waits for it or is refused. */
const supersededBy: Readonly<Record<string, readonly string[]>> = {
  start: ['stop', 'stop!'],
  stop: ['stop!', 'restart!'],
  restart: ['stop!', 'restart!'],
  migrate: ['stop', 'stop!', 'restart', 'restart!'],
  'migrate!': ['stop', 'stop!', 'restart', 'restart!'],
  evict: ['stop', 'stop!', 'restart', 'restart!'],
  'evict!': ['stop', 'stop!', 'restart', 'restart!'],
}

/** Whether the newer may take the place of the older, both of one machine. */
export const supersedes = (newer: OperationVariant, older: OperationVariant): boolean =>
  supersededBy[variantText(older)]?.includes(variantText(newer)) ?? false

export interface MatrixPair {
  readonly older: OperationVariant
  readonly newer: OperationVariant
  readonly outcome: 'supersede' | 'refuse'
}

/** Every pair of an operation that has not ended and one that is asked for: 196. */
export const operationMatrix: readonly MatrixPair[] = operationVariants.flatMap((older) =>
  operationVariants.map((newer) => ({
    older,
    newer,
    outcome: supersedes(newer, older) ? ('supersede' as const) : ('refuse' as const),
  })),
)
