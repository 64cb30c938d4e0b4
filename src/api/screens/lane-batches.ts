import type { BatchCount } from '../../../db/queries/fleet/list-lanes.ts'

/** The jobs of a lane, as one piece of work. */
export interface LaneBatch {
  readonly lane: string
  readonly jobs: number
  readonly ended: number
  readonly counts: Readonly<Record<string, number>>
  readonly firstAt: Date
  readonly lastAt: Date | null
  readonly done: boolean
  /** Of the last ten seconds, so that a pause or a stall shows. */
  readonly perSecond: number
  readonly etaMs: number | undefined
}

const windowMs = 10_000

/** Counts by lane and state, as batches: the ones under way first, then the ones that ended last. Pure. */
export const lanesAsBatches = (rows: readonly BatchCount[], nowMs: number): LaneBatch[] => {
  const lanes = new Map<string, BatchCount[]>()
  for (const row of rows) lanes.set(row.lane, [...(lanes.get(row.lane) ?? []), row])
  return [...lanes.values()].map((parts) => batchOf(parts, nowMs)).sort(underWayFirst)
}

const batchOf = (parts: readonly BatchCount[], nowMs: number): LaneBatch => {
  const counts = Object.fromEntries(parts.map((part) => [part.state, part.jobs]))
  const jobs = sum(parts, (part) => part.jobs)
  const ended = (counts.succeeded ?? 0) + (counts.failed ?? 0) + (counts.canceled ?? 0)
  const firstMs = Math.min(...parts.map((part) => part.firstAt.getTime()))
  const lastMs = Math.max(...parts.map((part) => part.lastAt?.getTime() ?? 0))
  const spanMs = Math.min(windowMs, Math.max(1_000, nowMs - firstMs))
  const perSecond = (sum(parts, (part) => part.recent) / spanMs) * 1_000
  return {
    lane: parts[0]?.lane ?? '',
    jobs,
    ended,
    counts,
    firstAt: new Date(firstMs),
    lastAt: lastMs === 0 ? null : new Date(lastMs),
    done: ended === jobs,
    perSecond,
    etaMs: perSecond > 0 && ended < jobs ? ((jobs - ended) / perSecond) * 1_000 : undefined,
  }
}

const sum = <Item>(items: readonly Item[], value: (item: Item) => number): number =>
  items.reduce((total, item) => total + value(item), 0)

const underWayFirst = (a: LaneBatch, b: LaneBatch): number => {
  if (a.done !== b.done) return a.done ? 1 : -1
  if (a.done) return (b.lastAt?.getTime() ?? 0) - (a.lastAt?.getTime() ?? 0)
  return b.firstAt.getTime() - a.firstAt.getTime()
}
