/** The number of letters to change, add or drop between two names; at most `limit` + 1. */
const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}

/** The known name that was probably meant; undefined when none is near. */
export const nearestName = (name: string, known: readonly string[]): string | undefined => {
  const wanted = name.toLowerCase().slice(0, 60)
  const limit = Math.max(1, Math.floor(wanted.length / 3))
  const ranked = known
    .map((candidate) => ({ candidate, steps: distance(wanted, candidate.toLowerCase(), limit) }))
    .filter(({ steps }) => steps <= limit)
    .sort((a, b) => a.steps - b.steps)
  return ranked[0]?.candidate ?? known.find((candidate) => wanted.length > 2 && candidate.includes(wanted))
}
