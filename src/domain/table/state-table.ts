/** Who causes a move. */
export type Cause = 'worker' | 'conductor' | 'person'

export interface StateMeaning {
  /** What the state means, as a sentence for people. */
  readonly says: string
  /** A row may begin here. */
  readonly starts?: boolean
  /** The work is over: only a person's move leads out of this state. */
  readonly terminal?: boolean
}

/** One row of a table: an event, the states in which it is possible, and the state it leads to. */
export interface Move<State extends string, Event extends string, Stage extends string = never> {
  readonly event: Event
  readonly from: readonly State[]
  /** The stages in which it is possible; not given: all. */
  readonly in?: readonly Stage[]
  /** `gone`: the row is deleted. */
  readonly to: State | 'gone'
  /** Not given: the stage stays. */
  readonly stage?: Stage
  readonly cause: Cause
  /** What happens, as a sentence for people. */
  readonly says: string
}

interface Definition<State extends string, Event extends string, Stage extends string, M> {
  /** The subject of the table: `job`, `batch`, `entry`, `operation`. */
  readonly subject: string
  readonly states: Readonly<Record<State, StateMeaning>>
  readonly events: readonly Event[]
  /** The progress of the work besides the state; most subjects have no stages. */
  readonly stages?: readonly Stage[]
  readonly moves: readonly M[]
}

export interface StateTable<
  State extends string,
  Event extends string,
  Stage extends string = never,
  M extends Move<State, Event, Stage> = Move<State, Event, Stage>,
> {
  readonly subject: string
  readonly meanings: Readonly<Record<State, StateMeaning>>
  readonly states: readonly State[]
  readonly starts: readonly State[]
  readonly terminal: readonly State[]
  readonly events: readonly Event[]
  readonly stages: readonly Stage[]
  readonly moves: readonly M[]
}

/** Words of a table are inserted into statements as they are. */
const plainWord = /^[a-z]+(-[a-z]+)*$/

/** A state machine: every move it has. A move outside the table is refused. */
export const defineTable = <
  State extends string,
  const Event extends string,
  const M extends Move<NoInfer<State>, NoInfer<Event>, NoInfer<Stage>>,
  const Stage extends string = never,
>(
  definition: Definition<State, Event, Stage, M>,
): StateTable<State, Event, Stage, M> => {
  const { subject, states: meanings, events, moves, stages = [] } = definition
  const states = Object.keys(meanings) as State[]
  const odd = [...states, ...events, ...stages].find((word) => !plainWord.test(word))
  if (odd !== undefined) throw new Error(`The table of ${subject} has the odd word "${odd}".`)
  const where = (is: (meaning: StateMeaning) => boolean) => states.filter((state) => is(meanings[state]))
  const table: StateTable<State, Event, Stage, M> = {
    ...{ subject, meanings, states, events, stages, moves },
    starts: where(({ starts }) => starts === true),
    terminal: where(({ terminal }) => terminal === true),
  }
  for (const state of states)
    for (const event of events)
      for (const stage of stages.length === 0 ? [undefined] : stages)
        if (movesFrom(table, state, event, stage).length > 1)
          throw new Error(`${event} of a ${subject} that is ${state} leads to two places.`)
  return table
}

const movesFrom = <
  State extends string,
  Event extends string,
  Stage extends string,
  M extends Move<State, Event, Stage>,
>(
  table: StateTable<State, Event, Stage, M>,
  state: State,
  event: Event,
  stage?: Stage,
): M[] =>
  table.moves.filter(
    (move) =>
      move.event === event &&
      move.from.includes(state) &&
      (stage === undefined || (move.in ?? [stage]).includes(stage)),
  )

/** The move of an event from a state; undefined: the table refuses it. */
export const transition = <
  State extends string,
  Event extends string,
  Stage extends string,
  M extends Move<State, Event, Stage>,
>(
  table: StateTable<State, Event, Stage, M>,
  from: NoInfer<State>,
  event: NoInfer<Event>,
  stage?: NoInfer<Stage>,
): M | undefined => movesFrom(table, from, event, stage)[0]

/** The same where a refusal is a mistake of the caller. */
export const requireTransition = <
  State extends string,
  Event extends string,
  Stage extends string,
  M extends Move<State, Event, Stage>,
>(
  table: StateTable<State, Event, Stage, M>,
  from: NoInfer<State>,
  event: NoInfer<Event>,
  stage?: NoInfer<Stage>,
): M => {
  const move = transition(table, from, event, stage)
  if (!move) throw new Error(`No ${table.subject} that is ${from} can ${event}.`)
  return move
}

/** The states in which an event is possible, and the state it leads to: for statements that move many rows. */
export interface Sweep<State> {
  readonly from: readonly State[]
  readonly to: State
}

/** `seen`: only rows in that state. An event that leads to several states, or to none, is a mistake of the caller. */
export const sweepOf = <
  State extends string,
  Event extends string,
  Stage extends string,
  M extends Move<State, Event, Stage>,
>(
  table: StateTable<State, Event, Stage, M>,
  event: NoInfer<Event>,
  seen?: NoInfer<State>,
): Sweep<State> => {
  const from = table.states.filter(
    (state) => (seen ?? state) === state && transition(table, state, event) !== undefined,
  )
  const [to, ...others] = new Set(from.map((state) => requireTransition(table, state, event).to))
  if (to === undefined || to === 'gone' || others.length > 0)
    throw new Error(`No ${table.subject} ${seen === undefined ? '' : `that is ${seen} `}can ${event}.`)
  return { from, to: to as State }
}

/** Requires a state in which a row may start; anything else is a mistake of the caller. */
export const requireStart = <State extends string>(
  { subject, starts }: Pick<StateTable<State, string>, 'subject' | 'starts'>,
  state: NoInfer<State>,
): State => {
  if (!starts.includes(state)) throw new Error(`No ${subject} begins as ${state}.`)
  return state
}
