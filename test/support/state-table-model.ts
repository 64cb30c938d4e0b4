import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Move, type StateTable, transition } from '../../src/domain/table/state-table.ts'

/** What is known of every state table, whatever it is about. */
export interface Place<State, Stage> {
  readonly state: State
  readonly stage?: Stage | undefined
}

type Table<S extends string, E extends string, G extends string, M extends Move<S, E, G>> = StateTable<
  S,
  E,
  G,
  M
>

/** Where an event leads from here; undefined: the table refuses it; null: the row is gone. */
export const after = <S extends string, E extends string, G extends string, M extends Move<S, E, G>>(
  table: Table<S, E, G, M>,
  at: Place<S, G>,
  event: E,
): Place<S, G> | null | undefined => {
  const move = transition(table, at.state, event, at.stage)
  if (!move) return undefined
  return move.to === 'gone' ? null : { state: move.to, stage: move.stage ?? at.stage }
}

const nameOf = ({ state, stage }: Place<string, string>): string =>
  stage === undefined ? state : `${state}/${stage}`

/** Every place that a row can come to, from where rows begin. */
export const reachable = <S extends string, E extends string, G extends string, M extends Move<S, E, G>>(
  table: Table<S, E, G, M>,
): Place<S, G>[] => {
  const seen = new Map(
    table.starts.map((state): [string, Place<S, G>] => {
      const start = { state, stage: table.stages[0] }
      return [nameOf(start), start]
    }),
  )
  for (const place of seen.values())
    for (const event of table.events) {
      const to = after(table, place, event)
      if (to) seen.set(nameOf(to), to)
    }
  return [...seen.values()]
}

/** The laws of a table by itself. */
export const checkTable = <S extends string, E extends string, G extends string, M extends Move<S, E, G>>(
  table: Table<S, E, G, M>,
): void => {
  test(`${table.subject}: every state is reached, every event is used, and no move is dead`, () => {
    const places = reachable(table)
    expect(new Set(places.map(({ state }) => state))).toEqual(new Set(table.states))
    const used = places.flatMap(({ state, stage }) =>
      table.events.flatMap((event) => transition(table, state, event, stage) ?? []),
    )
    expect(new Set(used)).toEqual(new Set(table.moves))
    expect(new Set(used.map(({ event }) => event))).toEqual(new Set(table.events))
  })

  test(`${table.subject}: only a person leads out of a terminal state, and all else has a way to an end`, () => {
    const places = reachable(table)
    for (const { state, stage } of places)
      for (const event of table.terminal.includes(state) ? table.events : []) {
        const move = transition(table, state, event, stage)
        if (move) expect(move.cause, `${event} from ${state}`).toBe('person')
      }
    for (const from of places) {
      const seen = new Map([[nameOf(from), from]])
      for (const place of seen.values())
        for (const event of table.events) {
          const to = after(table, place, event)
          if (to) seen.set(nameOf(to), to)
        }
      expect([...seen.values()].some(({ state }) => table.terminal.includes(state))).toBe(true)
    }
  })
}

/** How the rows of a table are planted, moved and read: `apply` goes the way that the product goes. */
export interface Harness<S extends string, E extends string, G extends string> {
  plant(at: Place<S, G>): Promise<string>
  /** An event that the product's own way refuses may throw, or do nothing. */
  apply(id: string, event: E, at: Place<S, G>): Promise<unknown>
  /** Undefined: the row is gone. */
  read(id: string): Promise<Place<S, G> | undefined>
  /** How many events the history of the row has. */
  told(id: string): Promise<number>
}

const runs = 25
const steps = 8

/** One event on a row: it goes where the table has it, or nothing changes and nothing is told. */
const step = async <S extends string, E extends string, G extends string, M extends Move<S, E, G>>(
  table: Table<S, E, G, M>,
  harness: Harness<S, E, G>,
  { id, at, event }: { readonly id: string; readonly at: Place<S, G>; readonly event: E },
): Promise<Place<S, G> | null> => {
  const to = after(table, at, event)
  const before = await harness.told(id)
  const refusal = await harness.apply(id, event, at).then(
    () => undefined,
    (error: unknown) => error,
  )
  const what = `${event} from ${nameOf(at)}`
  if (to !== undefined && refusal !== undefined) throw new Error(`${what} was refused`, { cause: refusal })
  const now = await harness.read(id)
  expect(now && nameOf(now), what).toBe(to === null ? undefined : nameOf(to ?? at))
  const news = (await harness.told(id)) - before
  if (to === undefined) expect(news, `events of the refused ${what}`).toBe(0)
  else expect(news, `events of ${what}`).toBeGreaterThan(0)
  return to === undefined ? at : to
}

/**
 * The table is enforced where rows are written: every event from every place that a row can be in, and rows that events
 * meet at random.
 */
export const checkEnforced = async <
  S extends string,
  E extends string,
  G extends string,
  M extends Move<S, E, G>,
>(
  table: Table<S, E, G, M>,
  harness: Harness<S, E, G>,
): Promise<void> => {
  for (const at of reachable(table)) {
    let id = await harness.plant(at)
    // A refusal leaves the row as it was: it serves for the next event, too.
    for (const event of table.events)
      if ((await step(table, harness, { id, at, event })) !== at) id = await harness.plant(at)
  }
  const start = fc.constantFrom(...table.starts)
  const events = fc.array(fc.constantFrom(...table.events), { maxLength: steps })
  await fc.assert(
    fc.asyncProperty(start, events, async (state, met) => {
      let at: Place<S, G> | null = { state, stage: table.stages[0] }
      const id = await harness.plant(at)
      for (const event of met) if (at) at = await step(table, harness, { id, at, event })
    }),
    { numRuns: runs },
  )
}
