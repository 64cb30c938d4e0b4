import { randomUUID } from 'node:crypto'
import { systemClock } from '../../../src/clock.ts'
import { type Step, script } from './script.ts'
import type { World } from './world.ts'

export interface Asked {
  /** From the request to its whole answer, of each operation that was asked for. */
  readonly latencies: readonly number[]
  readonly counts: Readonly<Record<Outcome, number>>
  readonly tookMs: number
}

/** What became of an ask, by its answer: `admitted` met nobody, and `refused` is what nobody was in the way of. */
export type Outcome = 'admitted' | 'superseded' | 'queued' | 'blocked' | 'refused'

interface Place {
  readonly machine: string
  /** The step that comes next. */
  next: number
}

const lookMs = 100
/** With nothing settled for so long, the rest will not. */
const patienceMs = 120_000

/**
 * Asks each machine what the script says, with so many clients at once: each takes the next machine at which nothing
 * is open. Ends when everything that was asked for has settled.
 */
export const askAll = async (world: World): Promise<Asked> => {
  const ready: Place[] = world.machines.map((machine) => ({ machine, next: 0 }))
  const busy = new Map<string, Place>()
  const latencies: number[] = []
  const counts: Record<Outcome, number> = { admitted: 0, superseded: 0, queued: 0, blocked: 0, refused: 0 }
  let left = world.machines.length
  const began = performance.now()

  const askOne = async (token: string, machine: string, step: Step): Promise<void> => {
    const from = performance.now()
    const outcome = await ask(world.url, token, machine, step)
    latencies.push(performance.now() - from)
    counts[outcome] += 1
  }

  const client = async (token: string): Promise<void> => {
    while (left > 0) {
      const place = ready.shift()
      if (!place) {
        await systemClock.sleep(5)
        continue
      }
      let step = script[place.next]
      do {
        if (!step) throw new Error('A machine was asked for more than there is.')
        await askOne(token, place.machine, step)
        place.next += 1
        step = script[place.next]
      } while (step?.meets !== undefined)
      busy.set(place.machine, place)
    }
  }

  const settle = async (): Promise<void> => {
    let last = performance.now()
    while (left > 0) {
      // Only those whose last answer was there before we looked.
      const known = [...busy.values()]
      const open = await openMachines(world)
      for (const place of known) {
        if (open.has(place.machine)) continue
        busy.delete(place.machine)
        last = performance.now()
        if (place.next < script.length) ready.push(place)
        else left -= 1
      }
      if (performance.now() - last > patienceMs) {
        left = 0
        throw new Error(`Nothing has settled for ${patienceMs} ms: ${JSON.stringify([...open].slice(0, 3))}`)
      }
      await systemClock.sleep(lookMs)
    }
  }

  await Promise.all([settle(), ...world.tokens.map(client)])
  return { latencies, counts, tookMs: performance.now() - began }
}

const openMachines = async ({ db }: World): Promise<Set<string>> => {
  const rows = await db<{ machineId: string }[]>`
    select distinct machine_id from operation where settled_at is null`
  return new Set(rows.map(({ machineId }) => machineId))
}

interface Admitted {
  readonly state: string
  readonly supersedes: readonly string[]
}

interface Refused {
  readonly code: string
}

/** Codes of a refusal because of another operation. */
const inTheWay: ReadonlySet<string> = new Set(['blocked', 'past-return'])

const admittedAs = ({ state, supersedes }: Admitted): Outcome => {
  if (state === 'queued') return 'queued'
  return supersedes.length > 0 ? 'superseded' : 'admitted'
}

const ask = async (
  url: string,
  token: string,
  machine: string,
  { kind, force, meets }: Step,
): Promise<Outcome> => {
  const response = await fetch(`${url}/v1/operations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({ machine, kind, force, ...(meets === undefined ? {} : { on_conflict: meets }) }),
  })
  const text = await response.text()
  if (response.ok) return admittedAs(JSON.parse(text) as Admitted)
  if (response.status === 409) return inTheWay.has((JSON.parse(text) as Refused).code) ? 'blocked' : 'refused'
  throw new Error(`${kind} of ${machine} was answered ${response.status}: ${text}`)
}
