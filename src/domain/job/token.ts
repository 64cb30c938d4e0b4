export interface TokenClass {
  readonly title: string
  readonly limit: number
  /** A job that holds such a token stops when the thing does not answer: see `room.ts`. */
  readonly isDependency?: boolean
}

/**
 * Admission tokens: what a job must hold to run, `class/thing`, such as `source-host-reads/esx-04`. A limit is set for
 * one thing or for its whole class; the thing's own limit wins.
 */
export const tokenClasses: Readonly<Record<string, TokenClass>> = {
  source: {
    title: 'Verifications, clean-ups and power changes at once at one source',
    limit: 100_000,
    isDependency: true,
  },
  target: { title: 'Verifications and clean-ups at once at one target', limit: 100_000, isDependency: true },
  'source-host-reads': {
    title: 'Machines read at once from one source host',
    limit: 8,
    isDependency: true,
  },
  'source-snapshots': { title: 'Snapshots held at once on one datastore', limit: 15 },
  'source-imports': { title: 'Imports at once from one source', limit: 100_000, isDependency: true },
  'site-sync': { title: 'Syncs at once of one source or target', limit: 1 },
  'target-imports': { title: 'Imports at once into one target', limit: 8, isDependency: true },
  'target-creates': { title: 'Machines created at once on one target', limit: 4, isDependency: true },
  'host-inbound-moves': { title: 'Moves at once into one host', limit: 2 },
  // All moves copy memory today: with different limits, the higher one would never be reached.
  'host-outbound-moves': { title: 'Moves of any sort at once out of one host', limit: 1 },
  'host-move-syncs': {
    title: 'Moves that copy memory at once out of one host, from asking to end',
    limit: 1,
  },
  'target-moves': { title: 'Moves at once between the hosts of one target', limit: 5 },
  // No job requests it yet: no platform says which link a copy uses.
  link: { title: 'Copies at once over one link (not used yet)', limit: 16 },
  // Without a `sync_limit` of the batch there is no limit.
  batch: { title: 'First copies of one batch at once', limit: 100_000 },
}

const tokenName = /^([a-z][a-z-]*)\/([\x21-\x2e\x30-\x7e]{1,128})$/

const longest = 128

/** Names of a platform as the thing of a token. Names that are cut to the same text share one limit. */
export const thingOf = (...names: readonly string[]): string =>
  [...names.join('.')]
    .map((sign) =>
      /[\x21-\x24\x26-\x2e\x30-\x7e]/.test(sign) ? sign : `%${sign.codePointAt(0)?.toString(16)}`,
    )
    .join('')
    .slice(0, longest)

export const parseToken = (token: string): { class: string; thing: string } | undefined => {
  const match = tokenName.exec(token)
  if (!match?.[1] || !match[2] || !Object.hasOwn(tokenClasses, match[1])) return undefined
  return { class: match[1], thing: match[2] }
}

/** The classes of tokens that name what a job depends on. */
export const dependencyClasses: readonly string[] = Object.keys(tokenClasses).filter(
  (name) => tokenClasses[name]?.isDependency,
)

export const isDependency = (token: string): boolean => {
  const parsed = parseToken(token)
  return parsed !== undefined && dependencyClasses.includes(parsed.class)
}

/** The tokens of a job that only names what it depends on. */
export const dependOn = (on: { readonly source: string | null; readonly target: string | null }): string[] =>
  Object.entries(on).flatMap(([role, name]) => (name === null ? [] : [`${role}/${name}`]))

/** The limit in force for a token: set for the thing, set for the class, or the class's default. */
export const tokenLimit = (token: string, limits: ReadonlyMap<string, number>): number => {
  const parsed = parseToken(token)
  if (!parsed) throw new Error(`"${token}" is not a token name: class/thing, with one of the known classes.`)
  return limits.get(token) ?? limits.get(parsed.class) ?? tokenClasses[parsed.class]?.limit ?? 1
}
