import { fileURLToPath } from 'node:url'
import { firstMessage, type StartedProcess, startProcess } from '../processes.ts'

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url))

/** One of our roles as in production, with its bell on Postgres. Ready when it comes back. */
export const startRole = async (
  role: 'conductor' | 'worker',
  given: { readonly url: string; readonly secretKey: string; readonly leaseMs: number },
): Promise<StartedProcess> => {
  const started = startProcess({
    title: role,
    command: process.execPath,
    args: ['--import', 'tsx', main, role],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATABASE_URL: given.url,
      DROVER_SECRET_KEY: given.secretKey,
      DROVER_LEASE_MS: String(given.leaseMs),
      DROVER_DRAIN_MS: '1000',
      DROVER_LOG_LEVEL: 'warn',
    },
    ipc: true,
  })
  await firstMessage(role, started)
  return started
}
