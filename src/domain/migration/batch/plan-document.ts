import type { Reason } from '../entry/entry-facts.ts'
import type { Placement } from '../place/placement.ts'
import type { Forecast } from '../schedule/plan-forecast.ts'
import { makespan } from '../schedule/plan-forecast.ts'

export const planStandings = ['goes', 'blocked', 'conflict', 'on-its-way', 'in-other-batch'] as const
export type PlanStanding = (typeof planStandings)[number]

/** What would become of one instance. Under the names of the API: stored as it is shown. */
export interface PlanItem {
  readonly instance_id: string
  readonly name: string
  readonly source: string
  /** `in-other-batch`: another batch has it, and a start leaves it there. */
  readonly standing: PlanStanding
  /** The state of its entry, if it has one. */
  readonly state: string | null
  readonly reasons: readonly Reason[]
  /** Null: it cannot be placed. */
  readonly placement: Placement | null
  readonly bytes: number
  /** The part that is copied in full while the source is off. Missing in plans of older versions. */
  readonly bytes_while_off?: number
  /** The cutover copies only changes, except for disks that are copied while off. */
  readonly tracked: boolean
  readonly tokens: readonly string[]
  readonly window: string | null
  readonly window_note: string
  readonly copy_ms: { readonly p50: number; readonly p90: number } | null
  readonly downtime_ms: { readonly p50: number; readonly p90: number } | null
  readonly forecast_note: string
}

export interface PlanTotals {
  readonly instances: number
  readonly goes: number
  readonly blocked: number
  readonly conflict: number
  readonly on_its_way: number
  readonly in_other_batch: number
  readonly without_window: number
  readonly bytes: number
  readonly bytes_while_off: number
  /** How many entries need each token, and how many may hold it at once. */
  readonly tokens: Readonly<Record<string, { readonly needed: number; readonly limit: number }>>
  /** All first copies, as many at once as the limits allow; null: no history for some of them. */
  readonly copy_ms: { readonly p50: number; readonly p90: number } | null
  readonly forecast_note: string
}

/** The decision without values that differ at every look: the basis of the digest. */
export const decidedOf = (item: PlanItem): Record<string, unknown> => ({
  instance_id: item.instance_id,
  standing: item.standing,
  reasons: item.reasons.map(({ code }) => code),
  placement: item.placement,
  window: item.window,
})

/** Adds up items one by one, so that a plan of any size needs little memory. */
export class PlanSums {
  readonly #limitOf: (token: string) => number
  readonly #counts = { goes: 0, blocked: 0, conflict: 0, 'on-its-way': 0, 'in-other-batch': 0 }
  readonly #tokens = new Map<string, number>()
  readonly #copies: { readonly p50: number; readonly p90: number }[] = []
  #unknown = 0
  #bytes = 0
  #bytesWhileOff = 0
  #windowless = 0

  constructor(limitOf: (token: string) => number) {
    this.#limitOf = limitOf
  }

  add(item: PlanItem): void {
    this.#counts[item.standing] += 1
    if (item.standing !== 'goes') return
    this.#bytes += item.bytes
    this.#bytesWhileOff += item.bytes_while_off ?? 0
    if (item.window === null && item.window_note !== '') this.#windowless += 1
    for (const token of item.tokens) this.#tokens.set(token, (this.#tokens.get(token) ?? 0) + 1)
    if (item.copy_ms) this.#copies.push(item.copy_ms)
    else this.#unknown += 1
  }

  totals(): PlanTotals {
    const { goes, blocked, conflict } = this.#counts
    const tokens = [...this.#tokens].map(
      ([token, needed]) => [token, { needed, limit: this.#limitOf(token) }] as const,
    )
    const lanes = copiesAtOnce(goes, tokens)
    const known = this.#unknown === 0 && this.#copies.length > 0
    return {
      instances: Object.values(this.#counts).reduce((sum, count) => sum + count, 0),
      goes,
      blocked,
      conflict,
      on_its_way: this.#counts['on-its-way'],
      in_other_batch: this.#counts['in-other-batch'],
      without_window: this.#windowless,
      bytes: this.#bytes,
      bytes_while_off: this.#bytesWhileOff,
      tokens: Object.fromEntries(tokens),
      copy_ms: known
        ? {
            p50: makespan(
              this.#copies.map(({ p50 }) => p50),
              lanes,
            ),
            p90: makespan(
              this.#copies.map(({ p90 }) => p90),
              lanes,
            ),
          }
        : null,
      forecast_note: known || goes === 0 ? '' : `no history yet of ${this.#unknown} of ${goes}`,
    }
  }
}

/** The scarcest class of tokens limits the rate; the capacity of a class is the sum over its things. */
const copiesAtOnce = (
  goes: number,
  tokens: readonly (readonly [string, { readonly needed: number; readonly limit: number }])[],
): number => {
  const rooms = new Map<string, { needed: number; room: number }>()
  for (const [token, { needed, limit }] of tokens) {
    const [kind = ''] = token.split('/')
    const before = rooms.get(kind) ?? { needed: 0, room: 0 }
    rooms.set(kind, { needed: before.needed + needed, room: before.room + Math.min(limit, needed) })
  }
  // The token for creation is released before the copy.
  rooms.delete('target-creates')
  const free = [...rooms.values()].map(({ needed, room }) => room + Math.max(0, goes - needed))
  return free.length === 0 ? 0 : Math.min(...free)
}

export const forecastFields = ({ copy, downtime, note }: Forecast) => ({
  copy_ms: copy && { p50: copy.p50Ms, p90: copy.p90Ms },
  downtime_ms: downtime && { p50: downtime.p50Ms, p90: downtime.p90Ms },
  forecast_note: note,
})

export interface PlanDiff {
  readonly since: string
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly { readonly instance: string; readonly what: readonly string[] }[]
  /** Changes that are not listed. */
  readonly more: number
}

const listedMost = 500

/** The differences to an approved plan, by the names of instances. */
export const diffPlans = (
  planId: string,
  before: readonly PlanItem[],
  now: readonly PlanItem[],
): PlanDiff => {
  const old = new Map(before.map((item) => [item.instance_id, item]))
  const present = new Set(now.map(({ instance_id }) => instance_id))
  const added = now.filter(({ instance_id }) => !old.has(instance_id)).map(({ name }) => name)
  const removed = before.filter(({ instance_id }) => !present.has(instance_id)).map(({ name }) => name)
  const changed = now.flatMap((item) => {
    const was = old.get(item.instance_id)
    const what = was ? differing(was, item) : []
    return what.length === 0 ? [] : [{ instance: item.name, what }]
  })
  const [a, r, c] = [added, removed, changed].map((list) => list.length) as [number, number, number]
  return {
    since: planId,
    added: added.slice(0, listedMost),
    removed: removed.slice(0, listedMost),
    changed: changed.slice(0, listedMost),
    more: [a, r, c].reduce((sum, count) => sum + Math.max(0, count - listedMost), 0),
  }
}

const differing = (was: PlanItem, now: PlanItem): string[] => {
  const [old, fresh] = [decidedOf(was), { ...decidedOf(now), bytes: now.bytes }]
  return Object.entries({ ...old, bytes: was.bytes })
    .filter(([field, value]) => sorted(value) !== sorted((fresh as Record<string, unknown>)[field]))
    .map(([field]) => field)
}

/** `jsonb` has its own order of keys. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
