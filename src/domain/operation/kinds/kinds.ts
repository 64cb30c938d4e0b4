/** What can be asked of a machine. Each is done once; who wants it again asks again. */
export const operationKinds = [
  'start',
  'stop',
  'restart',
  'snapshot',
  'restore',
  'clone',
  'hibernate',
  'wake',
  'migrate',
  'evict',
] as const
export type OperationKind = (typeof operationKinds)[number]

/** Who wants it: a person, an evacuation of its host, its machine's run policy. */
export const operationCauses = ['person', 'evacuation', 'policy'] as const
export type OperationCause = (typeof operationCauses)[number]

const forcedKinds: readonly OperationKind[] = ['stop', 'restart', 'migrate', 'evict']

/** Whether `force` means anything for this kind: a stop that pulls the plug, a move that slows the guest down. */
export const mayForce = (kind: OperationKind): boolean => forcedKinds.includes(kind)

export interface OperationVariant {
  readonly kind: OperationKind
  readonly force: boolean
}

/** Every kind, and those that can be forced a second time with force: fourteen. */
export const operationVariants: readonly OperationVariant[] = operationKinds.flatMap((kind) =>
  mayForce(kind)
    ? [
        { kind, force: false },
        { kind, force: true },
      ]
    : [{ kind, force: false }],
)

/** `stop`, `stop!`: short, as tables and messages write them. */
export const variantText = ({ kind, force }: OperationVariant): string => (force ? `${kind}!` : kind)
