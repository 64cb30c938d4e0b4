import { describeMoves, describeStates, drawStateTable, listed } from '../../table/draw-state-table.ts'
import { fillPage } from '../../table/fill-page.ts'
import { type EntryPlace, entryStages, entryStates, isCommitted } from '../entry/entry.ts'
import { applyEntryEvent, type EntryRule, entryEvents, entryTable } from '../entry/entry-table.ts'
import { batchTable } from './batch-table.ts'

const start: readonly EntryPlace[] = entryTable.starts.map((state) => ({ state, stage: 'background' }))

/** Every reachable place of an entry, in the order of states and stages. */
export const reachablePlaces = (): EntryPlace[] => {
  const seen = new Map<string, EntryPlace>(start.map((place) => [`${place.state}/${place.stage}`, place]))
  for (const place of seen.values())
    for (const event of entryEvents) {
      const answer = applyEntryEvent(place, event, { force: true })
      if (answer.allowed && answer.to) seen.set(`${answer.to.state}/${answer.to.stage}`, answer.to)
    }
  return entryStates.flatMap((state) => entryStages.flatMap((stage) => seen.get(`${state}/${stage}`) ?? []))
}

const sourceWords = { keep: '', start: 'started', person: 'left to a person' } as const
const targetWords = { keep: '', destroy: 'destroyed', asked: 'as asked' } as const

const forceWords = ({ force, forceIfCommitted }: EntryRule): string =>
  forceIfCommitted ? 'where the source is off' : listed(force ?? [])

/** What every event does at a place: `cancel! → canceled/background (source started)`; `!`: only with force. */
export const answersAt = (place: EntryPlace): string[] =>
  entryEvents.flatMap((event) => {
    const answer = applyEntryEvent(place, event, { force: true })
    if (!answer.allowed) return []
    const guarded = applyEntryEvent(place, event).allowed ? '' : '!'
    const { source, target } = answer.rule
    const outside = [
      ...(source === 'keep' ? [] : [`source ${sourceWords[source]}`]),
      ...(target === 'keep' ? [] : [`target ${targetWords[target]}`]),
    ].join(', ')
    const to = answer.to ? `${answer.to.state}/${answer.to.stage}` : 'gone'
    return [`\`${event}\`${guarded} → ${to}${outside ? ` (${outside})` : ''}`]
  })

const placeRow = (place: EntryPlace): string =>
  `| \`${place.state}\` | ${place.stage} | ${isCommitted(place) ? 'yes' : ''} | ${answersAt(place).join('; ')} |`

/** The generated parts of docs/migration.md, by name. */
export const migrationTables = (): Readonly<Record<string, string>> => ({
  batch: [drawStateTable(batchTable), describeStates(batchTable), describeMoves(batchTable)].join('\n\n'),
  entry: [
    drawStateTable(entryTable, ['cancel', 'reset']),
    'Beside these, `cancel` and `reset` are possible in nearly every state. A stage that is not named stays.',
    describeStates(entryTable),
    describeMoves(entryTable, {
      'In stage': (rule) => (rule.in ?? []).join(', ') || 'any',
      'Stage then': ({ stage }) => stage ?? '',
      Source: ({ source }) => sourceWords[source],
      Target: ({ target }) => targetWords[target],
      'Needs force': forceWords,
    }),
  ].join('\n\n'),
  places: [
    'Every place that an entry can come to, and all that can happen there; anything else is refused. `!`: only with',
    'force.',
    '',
    '| State | Stage | Source off for it | What can happen |',
    '|---|---|---|---|',
    ...reachablePlaces().map(placeRow),
  ].join('\n'),
})

/** docs/migration.md with its generated parts up to date. */
export const fillMigrationPage = (page: string): string => fillPage(page, migrationTables())
