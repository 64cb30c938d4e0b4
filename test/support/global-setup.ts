import type { TestProject } from 'vitest/node'
import { buildRoles } from './built-roles.ts'
import { reapChildren, reapKilledRuns } from './children.ts'
import { commitSeed } from './run/commit-seed.ts'
import { startSharedPostgres } from './shared-postgres.ts'
import { clearMemory } from './temp.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Names this run's list of child processes. */
    run: string
    /** The superuser's URL of the run's Postgres server, database `postgres`. */
    postgresUrl: string
    /** Where that server has its Unix socket. */
    postgresSocket: string
    /** The migrated database that test databases are copies of. */
    postgresTemplate: string
    /** The program that is every role. */
    roles: string
    /** Every point of a matrix is tried on every bell; else a share of them, which the commit picks. */
    everyPoint: boolean
    /** Picks the share: the same for every run of a commit, another one for each commit. */
    shareSeed: number
  }
}

/** What the suites of a run have in common. Whoever comes first makes it; whoever leaves last takes it away. */
interface Shared {
  users: number
  parts?: Promise<{
    readonly postgres: Awaited<ReturnType<typeof startSharedPostgres>>
    readonly roles: Awaited<ReturnType<typeof buildRoles>>
  }>
}
/** Each suite has its own instance of this module. */
const global = globalThis as { droverTestRun?: Shared }

/** Before the first test of a run: one private Postgres with a migrated template database, and the roles as programs. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const run = String(process.pid)
  project.provide('run', run)
  project.provide('shareSeed', commitSeed())
  if (global.droverTestRun === undefined) {
    reapKilledRuns()
    clearMemory()
  }
  global.droverTestRun ??= { users: 0 }
  const shared = global.droverTestRun
  shared.users += 1
  if (project.name !== 'computing') {
    shared.parts ??= startParts(run)
    const { postgres, roles } = await shared.parts
    project.provide('postgresUrl', postgres.url)
    project.provide('postgresSocket', postgres.socketDir)
    project.provide('postgresTemplate', postgres.template)
    project.provide('roles', roles.main)
  }
  return async () => {
    shared.users -= 1
    if (shared.users > 0) return
    delete global.droverTestRun
    const parts = await shared.parts
    parts?.roles.remove()
    await parts?.postgres.stop()
    reportLeft(run)
  }
}

const startParts = async (run: string) => {
  const [postgres, roles] = await Promise.all([startSharedPostgres(run), buildRoles(run)])
  return { postgres, roles }
}

const reportLeft = (run: string): void => {
  const left = reapChildren(run)
  if (left.length > 0)
    throw new Error(`Test files left processes running; they were ended:\n${left.join('\n')}`)
}
