import { problem } from './problem.ts'

/** A strong ETag from whatever changes when the thing does. */
export const etagOf = (version: string | number): string => `"${version}"`

/**
 * The version that a change is meant for. Nothing in If-Match is 428; `*` means whatever is there now.
 * The caller puts the version into the `where` of its write, so that two writers cannot both win.
 */
export const requireVersion = (ifMatch: string | undefined, current: string | number): void => {
  if (ifMatch === undefined) throw problem('if-match-required', 'The request has no If-Match.')
  const wanted = ifMatch.split(',').map((tag) => tag.trim())
  if (wanted.includes('*') || wanted.includes(etagOf(current))) return
  throw versionMismatch()
}

export const versionMismatch = () =>
  problem('version-mismatch', 'It was changed since you read it; nothing was changed now.')
