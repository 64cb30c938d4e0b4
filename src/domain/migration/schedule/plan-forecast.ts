/** The parts of a journey whose length is kept: `entry_history.phase`. */
export const historyPhases = [
  'background-import',
  'source-stop',
  'final-import',
  'post-import',
  'final-verify',
] as const
export type HistoryPhase = (typeof historyPhases)[number]

/** How long one part of an ended journey took. */
export interface HistorySample {
  readonly phase: HistoryPhase
  readonly bytes: number
  readonly tookMs: number
}

export interface Span {
  readonly p50Ms: number
  readonly p90Ms: number
}

export interface Forecast {
  /** The first copy; null: nothing is known. */
  readonly copy: Span | null
  /** From the power-off of the source to the end; null: nothing is known of a part of it. */
  readonly downtime: Span | null
  /** How many samples the least known part rests on. */
  readonly samples: number
  readonly note: string
}

/** What the history of one pair of source and target teaches: worked out once for a whole plan. */
export interface Pace {
  /** Milliseconds per byte copied. */
  readonly perByte: Span | null
  readonly took: Readonly<Record<HistoryPhase, Span | null>>
  readonly samples: Readonly<Record<HistoryPhase | 'copies', number>>
}

export interface ForecastAsk {
  /** Bytes of all disks that are copied. */
  readonly bytes: number
  /** Of those, what is copied whole while the source is off, tracked or not: all of it is downtime. */
  readonly bytesWhileOff: number
  /** Changed blocks can be told: the cutover copies only what changed. */
  readonly tracked: boolean
  readonly pace: Pace
}

/** The value below which the given part of the sorted values lies, between two of them in proportion. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * part
  const [low, high] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0]
  return low + (high - low) * (at - Math.floor(at))
}

/** Short copies say how long it takes to begin, not how fast it goes. */
const tellingBytes = 64 * 2 ** 20

const spanOf = (values: readonly number[]): Span | null =>
  values.length === 0 ? null : { p50Ms: quantile(values, 0.5), p90Ms: quantile(values, 0.9) }

/** Milliseconds per byte of whole copies. */
const perByte = (history: readonly HistorySample[]): number[] => {
  const copies = history.filter(
    ({ phase, bytes }) => bytes > 0 && (phase === 'background-import' || phase === 'final-import'),
  )
  const telling = copies.filter(({ bytes }) => bytes >= tellingBytes)
  return (telling.length > 0 ? telling : copies).map(({ bytes, tookMs }) => tookMs / bytes)
}

export const learnPace = (history: readonly HistorySample[]): Pace => {
  const copies = perByte(history)
  const byPhase = historyPhases.map((phase) => {
    const took = history.filter((sample) => sample.phase === phase).map(({ tookMs }) => tookMs)
    return { phase, span: spanOf(took), count: took.length }
  })
  return {
    perByte: spanOf(copies),
    took: Object.fromEntries(byPhase.map(({ phase, span }) => [phase, span])) as Pace['took'],
    samples: {
      ...(Object.fromEntries(byPhase.map(({ phase, count }) => [phase, count])) as Record<
        HistoryPhase,
        number
      >),
      copies: copies.length,
    },
  }
}

/** The spans one after another; null when one of them is not known. */
const sum = (spans: readonly (Span | null)[]): Span | null => {
  const known = spans.filter((span) => span !== null)
  if (known.length < spans.length) return null
  return {
    p50Ms: Math.round(known.reduce((total, { p50Ms }) => total + p50Ms, 0)),
    p90Ms: Math.round(known.reduce((total, { p90Ms }) => total + p90Ms, 0)),
  }
}

/**
 * How long a copy and the downtime will be, from how long they were. The parts of the downtime are added up, each at
 * its own quantile, which tells P90 rather too long than too short.
 */
export const forecast = ({ bytes, bytesWhileOff, tracked, pace }: ForecastAsk): Forecast => {
  const { took } = pace
  const timeOf = (some: number): Span | null =>
    pace.perByte && { p50Ms: pace.perByte.p50Ms * some, p90Ms: pace.perByte.p90Ms * some }
  const copy = sum([timeOf(tracked ? bytes - bytesWhileOff : bytes)])
  const changes = bytesWhileOff > 0 ? [took['final-import'], timeOf(bytesWhileOff)] : [took['final-import']]
  const final = tracked ? changes : [timeOf(bytes)]
  const downtime = sum([took['source-stop'], ...final, took['post-import'], took['final-verify']])
  const samples = Math.min(
    pace.samples.copies,
    ...historyPhases
      .filter((phase) => phase !== 'background-import' && (tracked || phase !== 'final-import'))
      .map((phase) => pace.samples[phase]),
  )
  return { copy, downtime, samples, note: noteOn(copy, downtime, samples) }
}

const noteOn = (copy: Span | null, downtime: Span | null, samples: number): string => {
  if (!copy) return 'no history yet'
  if (!downtime) return 'no history of a whole cutover yet'
  return samples < 10 ? `from ${samples} earlier ${samples === 1 ? 'journey' : 'journeys'} only` : ''
}

/** How long many things take when so many of them run at once (0: all), each begun as room comes, in order. */
export const makespan = (lengthsMs: readonly number[], atOnce: number): number => {
  const longest = lengthsMs.reduce((most, length) => Math.max(most, length), 0)
  if (atOnce === 0 || atOnce >= lengthsMs.length) return longest
  const lanes = new Array<number>(atOnce).fill(0)
  for (const length of lengthsMs) {
    let first = 0
    for (let lane = 1; lane < lanes.length; lane += 1) if (lanes[lane]! < lanes[first]!) first = lane
    lanes[first]! += length
  }
  return lanes.reduce((most, length) => Math.max(most, length), 0)
}
