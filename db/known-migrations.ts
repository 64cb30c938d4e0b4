import { readFileSync } from 'node:fs'

const journal = JSON.parse(
  readFileSync(new URL('./migrations/meta/_journal.json', import.meta.url), 'utf8'),
) as { readonly entries: readonly { readonly when: number }[] }

/** The migrations that this build has, by the moment that each was made: what the database notes of them. */
export const knownMigrations: readonly number[] = journal.entries.map(({ when }) => when)
