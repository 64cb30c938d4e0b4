/** The parts of a migration whose duration is recorded: `entry_history.phase`. */
export const historyPhases = [
  'background-import',
  'source-stop',
  'final-import',
  'post-import',
  'final-verify',
] as const
export type HistoryPhase = (typeof historyPhases)[number]

/** The duration of one part of an ended migration. */
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
  /** The first copy; null: unknown. */
  readonly copy: Span | null
  /** From the power-off of the source to the end; null: a part of it is unknown. */
  readonly downtime: Span | null
  /** The number of samples of the least known part. */
  readonly samples: number
  readonly note: string
}

/** The rates from the history of one pair of source and target, computed once per plan. */
export interface Pace {
  /** Milliseconds per byte copied. */
  readonly perByte: Span | null
  readonly took: Readonly<Record<HistoryPhase, Span | null>>
  readonly samples: Readonly<Record<HistoryPhase | 'copies', number>>
}

export interface ForecastAsk {
  /** Bytes of all copied disks. */
  readonly bytes: number
  /** The part that is copied in full while the source is off, tracked or not: all of it is downtime. */
  readonly bytesWhileOff: number
  /** With change tracking, the cutover copies only changes. */
  readonly tracked: boolean
  readonly pace: Pace
}

/** The quantile of sorted values, with linear interpolation. */
export const quantile = (values: readonly number[], part: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * part
  const [low, high] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0]
  return low + (high - low) * (at - Math.floor(at))
}

/** Short copies show the start-up time, not the rate. */
const tellingBytes = 64 * 2 ** 20

const spanOf = (values: readonly number[]): Span | null =>
  values.length === 0 ? null : { p50Ms: quantile(values, 0.5), p90Ms: quantile(values, 0.9) }

/** Milliseconds per byte of full copies. */
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

/** The sum of the spans; null when one of them is unknown. */
const sum = (spans: readonly (Span | null)[]): Span | null => {
  const known = spans.filter((span) => span !== null)
  if (known.length < spans.length) return null
  return {
    p50Ms: Math.round(known.reduce((total, { p50Ms }) => total + p50Ms, 0)),
    p90Ms: Math.round(known.reduce((total, { p90Ms }) => total + p90Ms, 0)),
  }
}

/**
 * Predicts the copy and the downtime from the history. The parts of the downtime are added, each at its own quantile,
 * so P90 is rather too long than too short.
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

/** The total time of tasks with so many at once (0: all), each begun in order when a place is free. */
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
