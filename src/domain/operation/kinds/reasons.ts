/** The reason of an operation's state. `retryable`: a later request may well succeed. */
export interface ReasonText {
  readonly title: string
  readonly retryable: boolean
  readonly remedy: string
}

/** The remedy where nothing needs to be done. */
export const nothingToDo = 'Nothing is to be done.'

export const operationReasons = {
  queued: {
    title: 'Another operation is at the machine',
    retryable: false,
    remedy: 'Wait, or cancel the one before.',
  },
  'awaiting-older': {
    title: 'The operation that it superseded is still active',
    retryable: false,
    remedy: 'Wait: its job is being cancelled.',
  },
  admitted: {
    title: 'A worker will take it',
    retryable: false,
    remedy: 'Wait, or see why its job waits.',
  },
  retrying: {
    title: 'It failed for the moment and is tried again',
    retryable: false,
    remedy: 'See the error; mend its cause, or wait.',
  },
  'awaiting-slot': {
    title: 'Others hold what it needs: a host or the target does only so many at once',
    retryable: false,
    remedy:
      'See who holds it; wait, cancel one of them, or raise the limit (`drover limits set`, PUT /v1/limits/{name}).',
  },
  paused: {
    title: 'Work of this kind or lane is paused',
    retryable: false,
    remedy: 'See the pauses, and resume it (`drover resume`, DELETE /v1/pauses/{scope}/{name}).',
  },
  'no-worker': {
    title: 'No worker that can do it is alive',
    retryable: false,
    remedy: 'Start a worker.',
  },
  'waiting-for-guest': {
    title: 'The guest was asked to go down and still runs',
    retryable: false,
    remedy: 'Look inside the guest, or ask for the same with force, which pulls the plug.',
  },
  'host-full': {
    title: 'No host or storage has room for it',
    retryable: true,
    remedy: 'Make room: move or stop others, or free storage. It is tried again until its deadline.',
  },
  'target-busy': {
    title: 'Something else is at work on the machine',
    retryable: true,
    remedy: 'See the tasks of the target. It is tried again until its deadline.',
  },
  'target-unreachable': {
    title: 'The target, or the host of the machine, does not answer',
    retryable: true,
    remedy: 'See whether it is up and can be reached. It is tried again until its deadline.',
  },
  'target-fails': {
    title: 'The target answers with a fault',
    retryable: true,
    remedy: 'See the message and the log of the target. It is tried again until its deadline.',
  },
  'in-progress': { title: 'It is under way', retryable: false, remedy: nothingToDo },
  completed: { title: 'It is done', retryable: false, remedy: nothingToDo },
  superseded: {
    title: 'A newer operation took its place',
    retryable: true,
    remedy: 'Ask again when the newer one has ended.',
  },
  canceled: { title: 'It was given up', retryable: true, remedy: 'Ask again.' },
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
    remedy:
      'Look at the machine, then ask for what leads from there to where you want it. Sync its target when that is not how it is.',
  },
  blocked: {
    title: 'Another operation has to end first',
    retryable: true,
    remedy: 'Wait for it, cancel it, or ask again to queue behind it (on_conflict: queue).',
  },
  'past-return': {
    title: 'The other operation can no longer be taken back',
    retryable: true,
    remedy: 'Wait for it to end, or ask again to queue behind it (on_conflict: queue).',
  },
  'queue-full': {
    title: 'Too many operations wait for the machine',
    retryable: true,
    remedy: 'Cancel some of them, or wait.',
  },
  'host-unknown': {
    title: 'The target has no such host',
    retryable: false,
    remedy:
      'Ask again with the name or ref of one (`drover hosts`, GET /v1/hosts). Sync the target when the host is new.',
  },
  'in-migration': {
    title: 'The machine belongs to a migration that is under way',
    retryable: true,
    remedy:
      'Wait for its end, or cancel its entry and take it off the queue. Once its source is off, a stop with force gives the migration up first.',
  },
  'unproven-copy': {
    title: 'The machine is a copy of ours that was not verified',
    retryable: false,
    remedy:
      'Retry its migration, or cancel that with cleanup, which takes the copy away. Its source is the machine that counts.',
  },
  'runs-elsewhere': {
    title: 'The same VM runs elsewhere, or may',
    retryable: true,
    remedy: 'Stop the other one first, or find out which of them is meant. Never run both.',
  },
  'starts-elsewhere': {
    title: 'Something else may start the same VM elsewhere at any moment',
    retryable: true,
    remedy:
      'Wait for that to end, or cancel it, a migration by its entry; then ask again. If these are two VMs, give one of them a UUID of its own.',
  },
  migrated: {
    title: 'The machine was migrated: here it stays off',
    retryable: false,
    remedy: 'Work with the machine that it became, on its target. Never run both.',
  },
  unsupported: {
    title: 'The target cannot do that',
    retryable: false,
    remedy: 'See the capabilities of the target.',
  },
  'guest-keeps-running': {
    title: 'The guest did not go down by itself',
    retryable: true,
    remedy: 'Look inside the guest, or ask again with force, which pulls the plug.',
  },
  'guest-suspended': {
    title: 'A paused guest cannot be asked to go down',
    retryable: true,
    remedy: 'Ask again with force, which pulls the plug.',
  },
  'snapshot-absent': {
    title: 'The machine has no such snapshot',
    retryable: false,
    remedy: 'Ask again with a snapshot that the machine has.',
  },
  'snapshot-ambiguous': {
    title: 'Several snapshots of the machine have that name',
    retryable: false,
    remedy: 'Ask again with the ref of one of them.',
  },
  'name-taken': {
    title: 'Another machine has that name',
    retryable: false,
    remedy: 'Ask again with another name or folder.',
  },
  'state-unusable': {
    title: 'The saved memory of the machine cannot be used',
    retryable: false,
    remedy: 'Look at it on the target; wake the machine with `cold` to give its memory up.',
  },
  'no-host-fits': {
    title: 'No host of the target can take the machine now',
    retryable: true,
    remedy: 'Make room on a host, bring one back from maintenance, or name another; then sync the target.',
  },
  'host-unsuitable': {
    title: 'The machine cannot go to that host',
    retryable: false,
    remedy: 'Ask again with another host, or with none: then one is found.',
  },
  'machine-not-movable': {
    title: 'The target lets the machine go to no other host while it runs',
    retryable: false,
    remedy:
      'See the error for what binds it to its host; take that away, or move the machine while it is off.',
  },
  'other-move': {
    title: 'Somebody else moves the machine at the target',
    retryable: true,
    remedy: 'Wait for the end of that move, or abort it at the target.',
  },
  'move-scheduling': { title: 'The move is about to begin', retryable: false, remedy: nothingToDo },
  'move-preparing': {
    title: 'The other host gets ready for the machine',
    retryable: false,
    remedy: nothingToDo,
  },
  'move-prepare-stalled': {
    title: 'The other host did not get ready for the machine',
    retryable: true,
    remedy: 'Look at that host and at the task at the target, then ask again, or name another host.',
  },
  'move-syncing': { title: 'The memory of the machine is copied', retryable: false, remedy: nothingToDo },
  'not-converging': {
    title: 'The guest writes to its memory faster than it is copied',
    retryable: true,
    remedy: 'Ask again with force, which slows the guest down, or at a calmer hour.',
  },
  'move-switching': {
    title: 'The machine switches over to the other host',
    retryable: false,
    remedy: nothingToDo,
  },
  'move-aborted': {
    title: 'Somebody aborted the move at the target',
    retryable: true,
    remedy: 'Find out why at the target, then ask again.',
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
    title: 'The operation that it superseded stayed active for too long',
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
