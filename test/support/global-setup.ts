import type { TestProject } from 'vitest/node'
import { buildRoles } from './built-roles.ts'
import { reapChildren, reapKilledRuns } from './children.ts'
import { startSharedPostgres } from './shared-postgres.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Names this run's list of child processes. */
    run: string
    /** The superuser's URL of the run's Postgres server, database `postgres`. */
    postgresUrl: string
    /** The migrated database that test databases are copies of. */
    postgresTemplate: string
    /** The program that is every role. */
    roles: string
    /** What would do on one bell is tried on both. */
    everyBell: boolean
  }
}

/** Whoever comes first starts the server; whoever leaves last stops it. Each suite has its own module instance. */
interface Shared {
  users: number
  postgres: ReturnType<typeof startSharedPostgres>
  roles: ReturnType<typeof buildRoles>
}
const shared = globalThis as { droverTestServer?: Shared }

/** Before the first test of a suite: one private Postgres with a migrated template database, and the roles as programs. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const run = String(process.pid)
  project.provide('run', run)
  reapKilledRuns()
  if (project.name === 'unit') return async () => reportLeft(run)
  shared.droverTestServer ??= { users: 0, postgres: startSharedPostgres(run), roles: buildRoles(run) }
  shared.droverTestServer.users += 1
  const [postgres, roles] = await Promise.all([
    shared.droverTestServer.postgres,
    shared.droverTestServer.roles,
  ])
  project.provide('postgresUrl', postgres.url)
  project.provide('postgresTemplate', postgres.template)
  project.provide('roles', roles.main)
  return async () => {
    const server = shared.droverTestServer
    if (server && --server.users === 0) {
      delete shared.droverTestServer
      ;(await server.roles).remove()
      await (await server.postgres).stop()
    }
    reportLeft(run)
  }
}

const reportLeft = (run: string): void => {
  const left = reapChildren(run)
  if (left.length > 0)
    throw new Error(`Test files left processes running; they were ended:\n${left.join('\n')}`)
}
