/** Why an operation is where it is. `retryable`: asked again later, it may well succeed. */
export interface ReasonText {
  readonly title: string
  readonly retryable: boolean
  readonly remedy: string
}

const nothing = 'Nothing is to be done.'

export const operationReasons = {
  queued: {
    title: 'Another operation is at the machine',
    retryable: false,
    remedy: 'Wait, or cancel the one before.',
  },
  'awaiting-older': {
    title: 'The one it took the place of is letting go',
    retryable: false,
    remedy: 'Wait: it is called off.',
  },
  admitted: {
    title: 'A worker will take it',
    retryable: false,
    remedy: 'Wait, or see why its job waits.',
  },
  'in-progress': { title: 'It is under way', retryable: false, remedy: nothing },
  completed: { title: 'It is done', retryable: false, remedy: nothing },
  superseded: {
    title: 'A newer operation took its place',
    retryable: true,
    remedy: 'Ask again when the newer one has ended.',
  },
  canceled: { title: 'A person gave it up', retryable: true, remedy: 'Ask again.' },
  'machine-gone': {
    title: 'The machine is gone from its target',
    retryable: false,
    remedy: 'Sync the target, then look for the machine.',
  },
  'not-for-run-policy': {
    title: 'The run policy of the machine leaves no room for it',
    retryable: false,
    remedy: 'Change the run policy of the machine, then ask again.',
  },
  'not-for-phase': {
    title: 'It makes no sense for what the machine is doing now',
    retryable: true,
    remedy: 'Look at the machine, then ask for what leads from there to where you want it.',
  },
  blocked: {
    title: 'Another operation has to end first',
    retryable: true,
    remedy: 'Wait for it, cancel it, or ask with on_conflict: queue.',
  },
  'past-return': {
    title: 'The other operation can no longer be taken back',
    retryable: true,
    remedy: 'Wait for it to end, or ask with on_conflict: queue.',
  },
  'queue-full': {
    title: 'Too many operations wait for the machine',
    retryable: true,
    remedy: 'Cancel some of them, or wait.',
  },
  'in-migration': {
    title: 'The machine belongs to a migration that is under way',
    retryable: true,
    remedy: 'Wait for the migration, or stop it with force, which gives the migration up first.',
  },
  unsupported: {
    title: 'The target cannot do that',
    retryable: false,
    remedy: 'See the capabilities of the target.',
  },
  'wait-expired': {
    title: 'Its turn did not come in time',
    retryable: true,
    remedy: 'See what was in the way, then ask again.',
  },
  'deadline-exceeded': {
    title: 'It took longer than it was given',
    retryable: true,
    remedy: 'Look at the machine; ask again with a longer deadline.',
  },
  'older-keeps-on': {
    title: 'The one it took the place of did not let go in time',
    retryable: true,
    remedy: 'See what keeps its job, and whether the target answers.',
  },
  failed: {
    title: 'The target refused or could not do it',
    retryable: true,
    remedy: 'See the error, mend its cause, ask again.',
  },
} as const satisfies Readonly<Record<string, ReasonText>>

export type OperationReason = keyof typeof operationReasons
