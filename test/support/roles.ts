import { expect } from 'vitest'
import { startRole, type TestProcess } from './processes.ts'

export interface Roles {
  readonly conductors: readonly TestProcess[]
  readonly workers: readonly TestProcess[]
}

/** A role may take this long to start on a machine that does much else. */
const startMs = 120_000

export const startConductor = async (env: NodeJS.ProcessEnv): Promise<TestProcess> => {
  const conductor = await startRole('conductor', env)
  await conductor.line('conductor runs', { withinMs: startMs })
  return conductor
}

export const startWorker = async (env: NodeJS.ProcessEnv): Promise<TestProcess> => {
  const worker = await startRole('worker', env)
  await worker.line('worker started', { withinMs: startMs })
  return worker
}

/** Real processes, all of them up: conductors and workers on one database and one bell. */
export const startRoles = async (
  env: NodeJS.ProcessEnv,
  count: { workers?: number; conductors?: number } = {},
): Promise<Roles> => {
  const many = (n: number, start: () => Promise<TestProcess>) =>
    Promise.all(Array.from({ length: n }, () => start()))
  const [conductors, workers] = await Promise.all([
    many(count.conductors ?? 1, () => startConductor(env)),
    many(count.workers ?? 2, () => startWorker(env)),
  ])
  return { conductors, workers }
}

/** Whatever happened, no role has ended or met an error that nobody handled. */
export const expectAlive = (...roles: readonly TestProcess[]): void => {
  for (const role of roles) {
    expect(role.running, role.output.split('\n').slice(-30).join('\n')).toBe(true)
    expect(role.lines.filter((line) => /unhandled|nobody handled|"level":60/i.test(line))).toEqual([])
  }
}
