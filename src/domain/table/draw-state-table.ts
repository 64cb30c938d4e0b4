import type { Move, StateTable } from './state-table.ts'

/** Mermaid takes a dash for the start of an arrow. */
const nodeOf = (state: string): string => state.replaceAll('-', '_')

/** A table as a Mermaid drawing; `hidden`: events that are possible nearly everywhere and would clutter the drawing. */
export const drawStateTable = <
  State extends string,
  Event extends string,
  Stage extends string,
  M extends Move<State, Event, Stage>,
>(
  { states, starts, terminal, moves }: StateTable<State, Event, Stage, M>,
  hidden: readonly Event[] = [],
): string => {
  const edges = new Map<string, Set<string>>()
  for (const { event, from, to } of moves)
    for (const state of hidden.includes(event) ? [] : from) {
      const edge = `${nodeOf(state)} --> ${to === 'gone' ? '[*]' : nodeOf(to)}`
      edges.set(edge, (edges.get(edge) ?? new Set()).add(event))
    }
  return [
    '```mermaid',
    'stateDiagram-v2',
    ...states
      .filter((state) => nodeOf(state) !== state)
      .map((state) => `  state "${state}" as ${nodeOf(state)}`),
    ...starts.map((state) => `  [*] --> ${nodeOf(state)}`),
    ...[...edges].map(([edge, events]) => `  ${edge}: ${[...events].join(', ')}`),
    ...terminal.map((state) => `  ${nodeOf(state)} --> [*]`),
    '```',
  ].join('\n')
}

const code = (text: string): string => `\`${text}\``

export const listed = (words: readonly string[]): string => words.map(code).join(', ')

/** The states of a table with what each means, as a table of a document. */
export const describeStates = <State extends string>({
  states,
  meanings,
  terminal,
}: Pick<StateTable<State, string>, 'states' | 'meanings' | 'terminal'>): string =>
  [
    '| State | What it means | Over |',
    '|---|---|---|',
    ...states.map(
      (state) => `| ${code(state)} | ${meanings[state].says} | ${terminal.includes(state) ? 'yes' : ''} |`,
    ),
  ].join('\n')

/** The moves of a table, as a table of a document; `more`: further columns before the last. */
export const describeMoves = <
  State extends string,
  Event extends string,
  Stage extends string,
  M extends Move<State, Event, Stage>,
>(
  { moves }: StateTable<State, Event, Stage, M>,
  more: Readonly<Record<string, (move: M) => string>> = {},
): string => {
  const columns: Readonly<Record<string, (move: M) => string>> = {
    Event: ({ event }) => code(event),
    From: ({ from }) => listed(from),
    To: ({ to }) => (to === 'gone' ? to : code(to)),
    ...more,
    By: ({ cause }) => cause,
    'What it means': ({ says }) => says,
  }
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [
    line(Object.keys(columns)),
    `|${'---|'.repeat(Object.keys(columns).length)}`,
    ...moves.map((move) => line(Object.values(columns).map((cell) => cell(move)))),
  ].join('\n')
}
