/** Lists inside each other, and time functions for each pair of their items. */
const nested = (items: number, comparisons: number): string => {
  const list = `[${Array.from({ length: items }, (_, at) => at % 10).join(',')}]`
  const pairs = Array.from(
    { length: comparisons },
    (_, at) => `timestamp("2026-01-${10 + at}T00:00:00Z") > timestamp("2027-01-01T00:00:00Z")`,
  )
  return `${list}.exists(a, ${list}.exists(b, ${pairs.join(' || ')}))`
}

/** What one viewer held up everybody with for 27 seconds. */
export const attack = nested(160, 15)

/** The most expensive one of its kind that is still answered. */
export const costliestAccepted = async (answered: (text: string) => Promise<boolean>): Promise<string> => {
  for (let items = 160; items > 1; items = Math.floor(items * 0.85)) {
    const text = nested(items, 15)
    if (await answered(text)) return text
  }
  throw new Error('Every filter was refused.')
}
