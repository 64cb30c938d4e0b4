import { readdirSync } from 'node:fs'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { startOwnPostgres } from '../support/postgres.ts'
import { repositoryRoot, startRole } from '../support/processes.ts'
import { settles } from '../support/wait.ts'

// promise: migrate-at-once
test('six processes migrate a fresh database at once: all end well, and one of them has done it', async () => {
  const server = await startOwnPostgres({ migrate: false })
  const migrations = await Promise.all(
    Array.from({ length: 6 }, () => startRole('migrate', { DATABASE_URL: server.url })),
  )
  const exits = await Promise.all(
    migrations.map((migration) =>
      settles(migration.exited, { what: 'the migration to end', withinMs: 90_000 }),
    ),
  )
  expect(exits, migrations.map((migration) => migration.output).join('\n')).toEqual(
    exits.map(() => ({ code: 0, signal: null })),
  )
  const db = postgres(server.url, { max: 1, onnotice: () => {} })
  try {
    const done = await db`select hash, count(*)::int as times from drizzle.__drizzle_migrations group by hash`
    const files = readdirSync(`${repositoryRoot}/db/migrations`).filter((name) => name.endsWith('.sql'))
    expect(done.map((row) => row.times)).toEqual(files.map(() => 1))
    const [job] = await db`select count(*)::int as jobs from job`
    expect(job?.jobs).toBe(0)
  } finally {
    await db.end({ timeout: 1 })
  }
})
