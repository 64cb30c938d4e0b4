import { fillPage } from '../fill-page.ts'
import { batchStates, batchTable } from './batch-table.ts'
import { type EntryPlace, entryStages, entryStates, isCommitted } from './entry.ts'
import { applyEntryEvent, type EntryRule, entryEvents, entryTable } from './entry-table.ts'

const start: readonly EntryPlace[] = (['waiting', 'blocked', 'conflict'] as const).map((state) => ({
  state,
  stage: 'background',
}))

/** Every place that an entry can come to, from its start on, in the order of states and stages. */
export const reachablePlaces = (): EntryPlace[] => {
  const seen = new Map<string, EntryPlace>(start.map((place) => [`${place.state}/${place.stage}`, place]))
  for (const place of seen.values())
    for (const event of entryEvents) {
      const answer = applyEntryEvent(place, event, { force: true })
      if (answer.allowed && answer.to) seen.set(`${answer.to.state}/${answer.to.stage}`, answer.to)
    }
  return entryStates.flatMap((state) => entryStages.flatMap((stage) => seen.get(`${state}/${stage}`) ?? []))
}

const mermaidName = (state: string): string => state.replaceAll('-', '_')

/** The journey without the verbs of a person, which are possible nearly everywhere. */
const drawEntry = (): string[] => {
  const verbs = new Set(['cancel', 'retry', 'resolve', 'reset'])
  const edges = new Map<string, string[]>()
  for (const { event, from, to } of entryTable.filter(({ event: name }) => !verbs.has(name)))
    for (const state of from) {
      const edge = `${mermaidName(state)} --> ${mermaidName(to)}`
      edges.set(edge, [...new Set([...(edges.get(edge) ?? []), event])])
    }
  return [
    '```mermaid',
    'stateDiagram-v2',
    ...entryStates
      .filter((state) => state.includes('-'))
      .map((state) => `  state "${state}" as ${mermaidName(state)}`),
    ...start.map(({ state }) => `  [*] --> ${state}`),
    ...[...edges].map(([edge, events]) => `  ${edge}: ${events.join(', ')}`),
    ...entryTable
      .filter(({ event }) => event === 'resolve' || event === 'retry')
      .flatMap((rule) => rule.from.map((state) => `  ${state} --> ${mermaidName(rule.to)}: ${rule.event}`)),
    '  finished --> [*]',
    '```',
  ]
}

const drawBatch = (): string[] => [
  '```mermaid',
  'stateDiagram-v2',
  `  [*] --> ${batchStates[0]}`,
  ...batchTable.flatMap(({ event, from, to }) => from.map((state) => `  ${state} --> ${to}: ${event}`)),
  '```',
]

const sourceWords = { keep: '', start: 'started', person: 'left to a person' } as const
const targetWords = { keep: '', destroy: 'destroyed', asked: 'as asked' } as const

const forceWords = ({ force, forceIfCommitted }: EntryRule): string =>
  forceIfCommitted ? 'where the source is off' : (force ?? []).map((state) => `\`${state}\``).join(', ')

const ruleRow = (rule: EntryRule): string =>
  `| \`${rule.event}\` | ${rule.from.map((state) => `\`${state}\``).join(', ')} | ${(rule.in ?? []).join(', ') || 'any'} | ${
    rule.to === 'gone' ? 'gone' : `\`${rule.to}\``
  } | ${rule.stage ?? ''} | ${sourceWords[rule.source]} | ${targetWords[rule.target]} | ${forceWords(rule)} | ${rule.says} |`

/** What every event does at a place: `cancel! → canceled/background (source started)`; `!`: with force alone. */
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

/** The parts of docs/migration.md that are made of the tables, by name. */
export const migrationTables = (): Readonly<Record<string, string>> => ({
  batch: [
    ...drawBatch(),
    '',
    '| Event | From | To | What it means |',
    '|---|---|---|---|',
    ...batchTable.map(
      ({ event, from, to, says }) =>
        `| \`${event}\` | ${from.map((state) => `\`${state}\``).join(', ')} | \`${to}\` | ${says} |`,
    ),
  ].join('\n'),
  entry: [
    ...drawEntry(),
    '',
    'Beside these, `cancel` and `reset` are possible in nearly every state. A stage that is not named stays.',
    '',
    '| Event | From | In stage | To | Stage | Source | Target | Needs force | What it means |',
    '|---|---|---|---|---|---|---|---|---|',
    ...entryTable.map(ruleRow),
  ].join('\n'),
  places: [
    'Every place that an entry can come to, and all that can happen there; anything else is refused. `!`: only with',
    'force.',
    '',
    '| State | Stage | Source off for it | What can happen |',
    '|---|---|---|---|',
    ...reachablePlaces().map(placeRow),
  ].join('\n'),
})

/** docs/migration.md with its made parts as they should be. */
export const fillMigrationPage = (page: string): string => fillPage(page, migrationTables())
