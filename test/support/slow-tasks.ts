import { expect } from 'vitest'
import type { TestLab } from './lab.ts'
import { until } from './wait.ts'

/** How long the lab's tasks take from now on, for a test of what is under way when it is called off. */
export const setPace = async ({ database: { db } }: TestLab, pace: number): Promise<void> => {
  await db`update lab.world set pace = ${pace}`
}

/** Longer than any task at the paces of the tests. */
const longMs = 3_600_000

/**
 * Does something that has to wait for what the platform is still at: the time of the lab passes only when it has begun
 * to look there, and again when all is over.
 */
export const whileTimePasses = async <Result>(
  lab: TestLab,
  looksAt: readonly ('power' | 'task' | 'tasks')[],
  work: () => Promise<Result>,
): Promise<Result> => {
  const { db } = lab.database
  const last = async () => {
    const [row] = await db<{ n: number }[]>`
      select coalesce(max(n), 0)::int as n from lab.call where call = any(${[...looksAt]}::text[]) and caller <> 'test'`
    return row?.n ?? 0
  }
  const before = await last()
  let over = false
  const working = work().finally(() => {
    over = true
  })
  const seen = until(async () => over || (await last()) > before, {
    what: 'somebody to look at the platform',
    withinMs: 60_000,
  })
  await Promise.all([seen.then(() => lab.pass(longMs)), working])
  await lab.pass(longMs)
  return working
}

/** What is under way on a site: kinds of tasks. */
export const tasksUnderWay = async ({ database: { db } }: TestLab, machine: string): Promise<string[]> => {
  const rows = await db<{ kind: string }[]>`
    select kind from lab.task where machine = ${machine} and state = 'running' order by n`
  return rows.map(({ kind }) => kind)
}

/** The test is about nothing when the platform was quicker. */
export const expectUnderWay = async (lab: TestLab, machine: string, kind: string): Promise<void> =>
  expect(await tasksUnderWay(lab, machine)).toContain(kind)
