/** The value below which `share` of the samples lie. Nearest rank, so it is always one of them. */
export const percentile = (samples: readonly number[], share: number): number => {
  const sorted = [...samples].sort((a, b) => a - b)
  const rank = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))
  const value = sorted[rank]
  if (value === undefined) throw new Error('There are no samples.')
  return value
}

export const median = (samples: readonly number[]): number => {
  const sorted = [...samples].sort((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.floor((sorted.length - 1) / 2)]
  if (upper === undefined || lower === undefined) throw new Error('There are no samples.')
  return (lower + upper) / 2
}

/** The same items, begun `by` places later: whoever is first in one round is not first in the next. */
export const rotated = <Item>(items: readonly Item[], by: number): Item[] => {
  const start = items.length === 0 ? 0 : by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}

export const pauseMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
