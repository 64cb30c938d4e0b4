import { findRule } from '../../inventory/rules/catalogue.ts'
import type { Rule } from '../../inventory/rules/rule.ts'
import type { PlaceProblem } from '../place/place-check.ts'
import type { EntryState } from './entry.ts'
import type { EntryJobKind } from './entry-facts.ts'

/** What a person can do about a reason, and what ends it. */
interface ReasonFacts {
  /** Empty: nothing needs to be done. */
  readonly remedy: string
  readonly endsWhen: string
}

const facts = (endsWhen: string, remedy = ''): ReasonFacts => ({ endsWhen, remedy })

const ofPlace: Readonly<Record<PlaceProblem['code'], ReasonFacts>> = {
  'target-absent': facts(
    'There is a target of that name.',
    'Add the target, or correct where the batch places.',
  ),
  'project-absent': facts(
    'The target has a project of that name.',
    'Make the project on the target, or correct where the batch places.',
  ),
  'project-full': facts(
    'The project has room for it.',
    'Raise the limits of the project on the target, or free something in it.',
  ),
  'name-taken': facts(
    'Nothing on the target has its name any more.',
    'Override the name of the instance. What has the name there may be in use: rename it on the target only when you know what it is.',
  ),
  'machine-absent': facts(
    'The machine is on the target again.',
    'Cancel the entry with cleanup, then retry it: its machine is made and copied anew.',
  ),
  'nic-without-place': facts(
    'There is a network for the card.',
    'Map its network under Networks, or place the card by the script of the batch.',
  ),
  'network-absent': facts(
    'The target has a network of that name.',
    'Make the network on the target, or map the card to another one.',
  ),
  'network-of-another-project': facts(
    'The network belongs to the project of the machine.',
    'Map the card to a network of the project, share the network with it on the target, or place into another project.',
  ),
  'network-inaccessible': facts(
    'The network can be reached.',
    'Look at the network on the target, or map the card to another one.',
  ),
  'network-unsuited': facts(
    'The card is placed in a way that the network can be used.',
    'Map the card to another type or to another network.',
  ),
  'vlan-invalid': facts(
    'The VLAN of the card can be read.',
    'Map its network with a VLAN such as 100 or 100,200-210, or correct the placement script of the batch.',
  ),
  'vlan-unavailable': facts(
    'The network carries the VLAN.',
    'Let the network of the target carry the VLAN, or map the card to another one.',
  ),
  'address-outside-subnet': facts(
    'Its addresses are in the subnet of the network.',
    'Map its network to that of its addresses, or place the card by the script of the batch.',
  ),
  'disk-not-copyable': facts(
    'A sync sees every disk as one that can be copied.',
    'Detach the disk on the source and sync it, or cancel the entry to leave the instance out.',
  ),
  'disk-without-place': facts(
    'There is a pool for the disk.',
    'Name a storage pool in the defaults of the batch, or place the disk by the script.',
  ),
  'pool-absent': facts(
    'The target has a pool of that name.',
    'Make the pool on the target, or correct where the batch places.',
  ),
  'pool-of-another-project': facts(
    'The pool belongs to the project of the machine.',
    'Place the disks in a pool of the project, share the pool with it on the target, or place into another project.',
  ),
  'pool-inaccessible': facts('The pool can be reached.', 'Look at the pool on the target.'),
  'pool-full': facts('The pool has room for it.', 'Free room in the pool, or place it in another one.'),
  'host-absent': facts(
    'The target has a host of that name.',
    'Bring the host back, or take drover.keep-with and drover.spread off its attributes: the target chooses then.',
  ),
  'host-unavailable': facts('A host takes machines again.', 'Bring the host back, or place it elsewhere.'),
  'host-full': facts(
    'A host has room for it.',
    'Free room on the hosts of the target, or place it elsewhere.',
  ),
}

const itsJob = facts('Its job ends.')

const ofJobs: Readonly<Record<EntryJobKind, ReasonFacts>> = {
  'place-instance': itsJob,
  'import-instance': itsJob,
  'cutover-instance': itsJob,
  'final-verify': itsJob,
  'withdraw-entry': itsJob,
}

const goesOn = facts('The next step begins, by itself.')
const triedAgain = facts('It is tried again, by itself.')

/** Reasons of an entry that is making progress. */
const ofTheWay = {
  waiting: facts('Its turn to be placed comes.'),
  working: itsJob,
  creating: itsJob,
  copying: itsJob,
  'cutting-over': itsJob,
  fitting: itsJob,
  'guest-shutting-down': facts('The source is seen off, or the time of its guest is over.'),
  'cleaning-up': facts('What it left outside is put right.'),
  placed: goesOn,
  created: goesOn,
  copied: goesOn,
  fitted: goesOn,
  'copy-stale': facts('A new final import is made, by itself.'),
  'job-lost': triedAgain,
  'job-canceled': triedAgain,
  'window-ended': facts('Its next window opens.', 'Give it a window that is long enough.'),
  'window-closed': facts('Its next window opens.', 'Give it a window that is open longer.'),
  'window-open': goesOn,
  'window-later': facts('The window opens.'),
  'windows-full': facts('There is room in a window.', 'Add a window, or raise the capacity of one.'),
  'constraint-full': facts(
    'Another instance of the constraint has finished, or its source runs again.',
    'Look who of the constraint is off (a conflict counts as well), or raise its max_concurrent_instances.',
  ),
  'no-window': facts('The batch has a window that is not over.', 'Add a window to the batch.'),
  'window-too-short': facts(
    'A window is long enough for the boot time that its constraint asks for.',
    'Add a longer window, or ask for less boot time.',
  ),
  'batch-stopped': facts('The batch is started.', 'Start the batch.'),
} as const satisfies Readonly<Record<string, ReasonFacts>>

const ofPersons = {
  cancel: facts('A person tries it again.'),
  retry: goesOn,
  resolve: goesOn,
  reset: facts('What it left outside is put right; then it is gone.'),
  'cancel-asked': facts('Its job has let go.'),
  'too-late': itsJob,
  verified: facts('It is done.'),
} as const satisfies Readonly<Record<string, ReasonFacts>>

/** Reasons that keep it from starting, and results of checks. */
const ofTrouble = {
  'instance-gone': facts('The source has it again.', 'Look for it on its source, or cancel the entry.'),
  'already-migrated': facts(
    'Its copy is gone from the target.',
    'Nothing is left to migrate: cancel the entry. Work with the machine on the target.',
  ),
  'instance-ignored': facts('It is left out no longer.', 'Correct what leaves it out, or cancel the entry.'),
  'instance-busy': facts('The job that switches it ends.'),
  'source-not-connected': facts('The source answers again.', 'Look at the page of the source.'),
  'target-not-connected': facts('The target answers again.', 'Look at the page of the target.'),
  'in-other-batch': facts(
    'The entry of the other batch goes.',
    'Take it off the queue of the other batch, or leave it there.',
  ),
  'no-longer-matches': facts(
    'A person resolves it.',
    'Resolve the entry to take it along all the same, or cancel it.',
  ),
  'expression-failed': facts(
    'A person resolves it.',
    'Look at what the expression asks of it; resolve the entry to take it along, or cancel it.',
  ),
  'unknown-disk': facts(
    'The script names disks that there are.',
    'Correct the placement script: it names a disk that the instance has not.',
  ),
  'unknown-nic': facts(
    'The script names cards that there are.',
    'Correct the placement script: it names a card that the instance has not.',
  ),
  'nic-without-mac': facts('The card has a MAC address.', 'Give the card a MAC address on its source.'),
  'placement-script-failed': facts('The script can place it.', 'Correct the placement script of the batch.'),
  'placement-changed': facts(
    'It would be placed where it is.',
    'Undo what changed, or correct the script so that it lands where it is; or let the batch force it.',
  ),
  'placement-unknown': facts('It can be placed.', 'Look at the placement of the batch.'),
  'source-gone': facts(
    'The source has it again.',
    'Bring it back on its source, or let the batch force it: what was copied is then all there is.',
  ),
  'identity-changed': facts(
    'A person has looked at it.',
    'Find out which machine that is on its source; then cancel the entry, or retry it.',
  ),
  'name-changed': facts('A person has looked at it.', 'Rename it back on its source, or retry the entry.'),
  'disks-changed': facts('A person has looked at it.', 'Retry the entry: its disks are copied anew.'),
  'content-differs': facts('It is copied anew.', 'Retry the entry: what differs is copied anew.'),
} as const satisfies Readonly<Record<string, ReasonFacts>>

const known: Readonly<Record<string, ReasonFacts>> = {
  ...ofPlace,
  ...ofJobs,
  ...ofTheWay,
  ...ofPersons,
  ...ofTrouble,
}

/** Whether a code is explained here; codes of errors bring their own remedy. */
export const isKnownReason = (code: string): boolean => Object.hasOwn(known, code)

/** Offers a waiver only for rules that can be waived. */
const endOfRule = ({ waivable, allowance }: Rule): string => {
  const ends = [
    'A sync sees that it is gone',
    ...(waivable ? ['a person waives it'] : []),
    ...(allowance ? ['the batch allows it'] : []),
  ]
  return `${ends.join(', or ')}.`
}

/** States that only a person ends, or that never end, whatever the reason. */
const endOfState: Readonly<Partial<Record<EntryState, string>>> = {
  conflict: 'A person resolves or cancels it.',
  error: 'A person retries or cancels it.',
  canceled: 'A person tries it again.',
  finished: 'It is done.',
}

const nextStep: Readonly<Partial<Record<EntryState, string>>> = {
  conflict: 'Then resolve the entry, or cancel it.',
  error: 'Then retry the entry, or cancel it.',
}

export interface ReasonExplained {
  readonly remedy: string
  readonly endsWhen: string
}

/** What a person can do about a reason of an entry in this state, and what ends it. */
export const explainReason = (asked: {
  readonly code: string
  readonly state: EntryState
  /** The error of its last failed job, where that is the reason. */
  readonly error?: { readonly code: string; readonly remedy: string } | null
}): ReasonExplained => {
  const { code, state, error } = asked
  const rule = findRule(code)
  const table = isKnownReason(code) ? known[code] : rule && facts(endOfRule(rule), rule.remedy)
  const remedy =
    error?.code === code ? error.remedy : (table?.remedy ?? 'Look at its last job and its events.')
  return {
    remedy: withNextStep(remedy, state),
    endsWhen: endOfState[state] ?? table?.endsWhen ?? 'The next try goes well; it comes by itself.',
  }
}

/** Adds the verb for states that a person has to end as well. */
const withNextStep = (remedy: string, state: EntryState): string => {
  const next = nextStep[state]
  if (next === undefined || /\b(resolve|retry|cancel)\b/i.test(remedy)) return remedy
  return remedy === '' ? next.replace('Then r', 'R') : `${remedy} ${next}`
}

/** What a person must know before the history of finished migrations is removed. */
export const whatStays =
  'The history in this batch goes. The machines on the target and the certificates stay, and the sources stay off.'
