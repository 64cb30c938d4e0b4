import { html } from 'hono/html'
import { problem } from '../../../api/wire/problem.ts'
import { type EntryState, entryStages } from '../../../domain/migration/entry/entry.ts'
import { type EntryVerb, entryVerbs } from '../../../domain/migration/entry/entry-table.ts'
import { withQuery } from '../../kit/ask.ts'
import { visible } from '../../kit/shown.ts'
import type { Html } from '../../kit/view.ts'

export type BulkVerb = EntryVerb['verb']

/** Which entries are meant, as the queue is asked. */
export interface EntryChoice {
  readonly batch?: string | null
  readonly state?: string | null
  readonly source?: string | null
  readonly target?: string | null
}

const choiceNames = ['batch', 'state', 'source', 'target'] as const

/** What an address asks of the queue; nothing for what it leaves open. */
export const choiceOf = (query: URLSearchParams): EntryChoice =>
  Object.fromEntries(choiceNames.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])))

const bulkVerbs: readonly BulkVerb[] = ['resolve', 'retry', 'cancel']

/** The verb in an address; one that is none is not there. */
export const bulkVerbOf = (name: string | undefined): BulkVerb => {
  const verb = bulkVerbs.find((one) => one === name)
  if (!verb) throw problem('not-found', 'There is no such verb for many entries.')
  return verb
}

export const bulkTexts: Readonly<Record<BulkVerb, readonly [button: string, meaning: string]>> = {
  resolve: [
    'Resolve',
    'One that no longer matched is let through for good: it is copied, and its source is switched off as soon as its window allows. Every other one is verified once more, and conflicts again if nothing has changed.',
  ],
  retry: [
    'Try again',
    'Everything is checked anew, what is there of ours is taken over, and each source is switched off as soon as its window allows.',
  ],
  cancel: [
    'Cancel',
    'Each is given up. A source that we switched off is started again, once the copy is proved off.',
  ],
}

/** Where nobody has said which state is meant, the one that the verb is for. */
const usualState: Readonly<Partial<Record<BulkVerb, EntryState>>> = { resolve: 'conflict', retry: 'error' }

const isPossible = (verb: BulkVerb, state: string): boolean =>
  entryStages.some((stage) =>
    entryVerbs({ state: state as EntryState, stage }).some((offered) => offered.verb === verb),
  )

/** The verbs that a choice of entries offers, with the choice that each then means. Pure. */
export const bulkOffers = (
  choice: EntryChoice,
): readonly { readonly verb: BulkVerb; readonly choice: EntryChoice }[] =>
  bulkVerbs.flatMap((verb) => {
    if (choice.state) return isPossible(verb, choice.state) ? [{ verb, choice }] : []
    const state = usualState[verb]
    if (state) return [{ verb, choice: { ...choice, state } }]
    // Everything there is, is no choice.
    return Object.keys(choice).length > 0 ? [{ verb, choice }] : []
  })

export const bulkAddress = (verb: BulkVerb, choice: EntryChoice): string =>
  withQuery(`/queue/all/${verb}`, { ...choice })

/** Links to where a verb for many is looked at and confirmed. */
export const bulkLinks = (choice: EntryChoice): Html =>
  html`${bulkOffers(choice).map(
    ({ verb, choice: meant }) =>
      html`<a href="${bulkAddress(verb, meant)}">${offerWords[verb](choice.state || !meant.state ? 'all' : `those in ${meant.state}`)}…</a>`,
  )}`

const offerWords: Readonly<Record<BulkVerb, (which: string) => string>> = {
  resolve: (which) => `Resolve ${which}`,
  retry: (which) => `Try ${which} again`,
  cancel: (which) => `Cancel ${which}`,
}

/** `batch wave-1, state conflict`. */
export const choiceWords = (choice: EntryChoice): string =>
  choiceNames.flatMap((name) => (choice[name] ? [`${name} ${visible(choice[name])}`] : [])).join(', ')
