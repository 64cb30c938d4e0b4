import { type Metric, register } from 'prom-client'

/** What was counted between one bound and the one below. */
export interface StoredBucket {
  readonly labels: Readonly<Record<string, string>>
  /** At most this much; Infinity: more than any bound. */
  readonly le: number
  readonly times: number
  readonly sum: number
}

export interface StoredHistogram {
  show(buckets: readonly StoredBucket[]): void
  reset(): void
}

interface Value {
  readonly metricName: string
  readonly labels: Record<string, string | number>
  readonly value: number
}

/**
 * A histogram whose counts are kept elsewhere, for example in Postgres: the one of prom-client only counts what it is
 * told one by one. Names get the prefix `drover_`. Asking again for a name gives the metric that is there.
 */
export const storedHistogram = (name: string, help: string, bounds: readonly number[]): StoredHistogram => {
  const prefixed = `drover_${name}`
  const there = register.getSingleMetric(prefixed) as unknown as StoredHistogram | undefined
  if (there) return there
  let shown: readonly StoredBucket[] = []
  const metric = {
    name: prefixed,
    help,
    type: 'histogram',
    show: (buckets: readonly StoredBucket[]) => {
      shown = buckets
    },
    reset: () => {
      shown = []
    },
    get: async () => {
      const values = series(shown).flatMap((buckets) => valuesOf(prefixed, bounds, buckets))
      return { name: prefixed, help, type: 'histogram', values, aggregator: 'sum' }
    },
  }
  // The registry asks a metric for its name, its `get` and its `reset` alone, whatever class it is of.
  register.registerMetric(metric as unknown as Metric)
  return metric
}

/** Buckets of the same labels. */
const series = (buckets: readonly StoredBucket[]): StoredBucket[][] => {
  const found = new Map<string, StoredBucket[]>()
  for (const bucket of buckets) {
    const key = JSON.stringify(Object.entries(bucket.labels).sort())
    found.set(key, [...(found.get(key) ?? []), bucket])
  }
  return [...found.values()]
}

/** Each bound counts all that is at most so much. What was counted under bounds of old is within the next one above. */
const valuesOf = (name: string, bounds: readonly number[], buckets: readonly StoredBucket[]): Value[] => {
  const labels = { ...buckets[0]?.labels }
  const total = buckets.reduce((sum, { times }) => sum + times, 0)
  const upTo = bounds.map((bound) => ({
    metricName: `${name}_bucket`,
    labels: { le: bound, ...labels },
    value: buckets.filter(({ le }) => le <= bound).reduce((sum, { times }) => sum + times, 0),
  }))
  return [
    ...upTo,
    { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: total },
    { metricName: `${name}_sum`, labels, value: buckets.reduce((sum, bucket) => sum + bucket.sum, 0) },
    { metricName: `${name}_count`, labels, value: total },
  ]
}
