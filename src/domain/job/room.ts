import { isDependency } from './token.ts'

/** What a job that requests a slot depends on: its lane and its tokens. */
export interface SlotAsk {
  readonly lane: string
  readonly tokens: readonly string[]
}

/** Jobs of one kind with a slot, or a promised slot, that depend on the same things. */
export interface SlotGroup {
  readonly things: readonly string[]
  jobs: number
}

/** The slots of one kind over all living workers. */
export interface SlotUse {
  readonly slots: number
  readonly groups: SlotGroup[]
}

/**
 * How many slots jobs may have for each that they leave free, by how many things they have in common: one, two, three,
 * or more. The more they share the likelier they hang together, and the less they get: with one thing in common two
 * thirds of all slots, with two a half, with three three eighths, with four a quarter.
 *
 * Each of these is less than the one before on purpose. All copies into the only target share that; were its part not
 * larger than what one source of them can take, a source that hangs would take the target's part from all others. The same
 * holds of a batch with several sources, and of a source with several batches.
 */
const perFree = [2, 1, 3 / 5, 1 / 3] as const

/** No real job depends on more; invented tokens must not cost more either. */
const thingsMax = 6

/** What a job depends on: its lane, and the sources, targets and hosts of its tokens. Sorted, without repeats. */
const thingsOf = ({ lane, tokens }: SlotAsk): string[] =>
  [...new Set([lane, ...tokens.filter(isDependency)])].sort().slice(0, thingsMax)

/**
 * The thing for which a job gets no slot, because too few would be left for jobs that depend on other things;
 * undefined: it gets one. The first job of its kind always gets a slot, if any is free.
 */
export const whatIsCrowded = (ask: SlotAsk, { slots, groups }: SlotUse): string | undefined => {
  // The number of slots is unknown: there is nothing to share.
  if (slots === 0) return undefined
  const free = slots - jobsOf(groups) - 1
  if (free < 0) return 'every slot'
  const crowded = subsetsOf(thingsOf(ask)).find((things) => {
    const own = groups.filter((group) => things.every((thing) => group.things.includes(thing)))
    return isCrowded(things, jobsOf(own), free)
  })
  return crowded?.join(', ')
}

/** Lists of things: no further job that depends on all things of a list can get a slot now. */
export const crowdedThings = ({ slots, groups }: SlotUse): string[][] => {
  if (slots === 0) return []
  const free = slots - jobsOf(groups) - 1
  const counted = new Map<string, { readonly things: string[]; jobs: number }>()
  for (const { things, jobs } of groups)
    for (const subset of subsetsOf(things.slice(0, thingsMax))) {
      const known = counted.get(subset.join(' '))
      if (known) known.jobs += jobs
      else counted.set(subset.join(' '), { things: subset, jobs })
    }
  return [...counted.values()]
    .filter(({ things, jobs }) => isCrowded(things, jobs, free))
    .map(({ things }) => things)
}

const isCrowded = (things: readonly string[], jobs: number, free: number): boolean =>
  jobs > 0 && jobs + 1 > free * (perFree[Math.min(things.length, perFree.length) - 1] ?? 1)

/** Counts a job that got a slot. */
export const takeSlot = (use: SlotUse, ask: SlotAsk): void => {
  const things = thingsOf(ask)
  const group = use.groups.find((one) => one.things.join(' ') === things.join(' '))
  if (group) group.jobs += 1
  else use.groups.push({ things, jobs: 1 })
}

const jobsOf = (groups: readonly SlotGroup[]): number => groups.reduce((sum, { jobs }) => sum + jobs, 0)

/** Every non-empty subset, the smallest first. */
const subsetsOf = (things: readonly string[]): string[][] =>
  Array.from({ length: 2 ** things.length - 1 }, (_, at) =>
    things.filter((_thing, bit) => ((at + 1) >> bit) % 2 === 1),
  ).sort((one, other) => one.length - other.length)
