import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../support/run/root.mjs'

/** The law of the design that it breaks, by its number, or another rule of the house. */
export type Law = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 'secrets' | 'rights' | 'people' | 'house'

/** One way to break the code on purpose. */
export interface Mutant {
  /** What it does wrong. */
  readonly name: string
  readonly law: Law
  readonly file: string
  /** What is replaced, found exactly once; null: the file is new. */
  readonly find: string | null
  readonly replace: string
  /** Files of the push suite one of which catches it: the cheapest that do. */
  readonly tests: readonly string[]
}

/** Why it cannot be put in place, as sentences; empty: it can. */
export const placesOf = ({ name, file, find, tests }: Mutant): string[] => {
  const path = join(root, file)
  const missing = tests.filter((test) => !existsSync(join(root, test)))
  const count = existsSync(path) && find !== null ? readFileSync(path, 'utf8').split(find).length - 1 : 0
  const isThere = find === null ? !existsSync(path) : count === 1
  return [
    ...(isThere ? [] : [`"${name}": its snippet is ${count} times in ${file}, not once.`]),
    ...missing.map((test) => `"${name}": there is no ${test}.`),
  ]
}
