import { fileURLToPath } from 'node:url'
import { firstMessage, type StartedProcess, startProcess } from './processes.ts'

const main = fileURLToPath(new URL('../../src/roles/main.ts', import.meta.url))

export interface RoleGiven {
  readonly url: string
  readonly secretKey: string
  readonly leaseMs: number
  readonly adminToken?: string
  /** Left out: the bell is on Postgres. */
  readonly redisUrl?: string | undefined
}

/** One of our roles as in production. Ready when it comes back, with the port it listens on. */
export const startRole = async (
  role: 'api' | 'conductor' | 'worker',
  given: RoleGiven,
): Promise<StartedProcess & { readonly port: number }> => {
  const started = startProcess({
    title: role,
    command: process.execPath,
    args: ['--import', 'tsx', main, role],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATABASE_URL: given.url,
      DROVER_PORT: '0',
      DROVER_SECRET_KEY: given.secretKey,
      ...(given.adminToken === undefined ? {} : { DROVER_ADMIN_TOKEN: given.adminToken }),
      ...(given.redisUrl === undefined ? {} : { REDIS_URL: given.redisUrl }),
      DROVER_LEASE_MS: String(given.leaseMs),
      DROVER_DRAIN_MS: '1000',
      DROVER_LOG_LEVEL: 'warn',
    },
    ipc: true,
  })
  const { port } = (await firstMessage(role, started)) as { readonly port: number }
  return { ...started, port }
}
