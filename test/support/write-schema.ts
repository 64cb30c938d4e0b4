import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { migrateDb } from '../../db/migrate/migrate.ts'
import { describeSchema } from '../../db/queries/server/describe-schema.ts'
import { createLog } from '../../src/process/log.ts'
import { startEmbeddedPostgres } from '../../src/standalone/postgres/embedded-postgres.ts'

/**
 * Writes `db/schema.sql`: what the migrations make of an empty database, so that a reviewer sees a migration
 * as a change of the schema. With `--check` it writes nothing and fails when the file is out of date.
 */
const target = fileURLToPath(new URL('../../db/schema.sql', import.meta.url))
const header = '-- Written by `npm run db:dump` from a freshly migrated database. Do not edit.\n\n'

const dumpFreshDatabase = async (): Promise<string> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'drover-dump-'))
  const server = await startEmbeddedPostgres({
    dataDir,
    log: createLog({ role: 'dump', level: 'warn' }),
    // Thrown away in a second: the disk need not know.
    settings: { fsync: 'off', shared_buffers: '32MB' },
  })
  try {
    await migrateDb(server.url)
    const sql = postgres(server.url, { max: 1 })
    const text = await describeSchema(sql)
    await sql.end()
    return header + text
  } finally {
    await server.stop('immediate')
    await rm(dataDir, { recursive: true, force: true })
  }
}

const firstDifference = (kept: string, fresh: string): string => {
  const [old, now] = [kept.split('\n'), fresh.split('\n')]
  const at = now.findIndex((line, index) => line !== old[index])
  const line = at === -1 ? now.length : at
  return `line ${line + 1}\n  kept:  ${old[line] ?? '(nothing)'}\n  fresh: ${now[line] ?? '(nothing)'}`
}

const fresh = await dumpFreshDatabase()
if (process.argv.includes('--check')) {
  const kept = await readFile(target, 'utf8').catch(() => '')
  if (kept !== fresh) {
    console.error(`db/schema.sql is out of date: ${firstDifference(kept, fresh)}\nRun: npm run db:dump`)
    process.exitCode = 1
  }
} else {
  await writeFile(target, fresh)
}
