/** A time in a sentence, the same for every reader: `2026-11-19 12:03 UTC`. */
export const utcText = (atMs: number): string =>
  `${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`
