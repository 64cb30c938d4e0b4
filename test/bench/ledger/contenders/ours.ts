import { takeStatements } from '../../statements.ts'
import type { Contender } from '../contender.ts'
import { type BellStore, startFleet, usualConcurrency } from '../fleet.ts'

const contender = (bell: BellStore, title: string): Contender => ({
  name: `ours-${bell}`,
  title,
  settings: (options) =>
    `1 conductor, ${options.workers} workers with ${usualConcurrency(options, bell)} jobs at once each; enqueue in transactions`,
  open: async (bench, database) => {
    const fleet = await startFleet(bench, { bell, database })
    let total = 0
    return {
      processes: [fleet.conductor, ...fleet.workers],
      enqueue: async (count) => {
        total += count
        await fleet.enqueue(count)
      },
      left: async () => {
        const [row] = await fleet.db<{ done: number }[]>`
          select count(*)::int as done from job where finished_at is not null`
        return total - (row?.done ?? 0)
      },
      settle: async () => void (await fleet.db`vacuum analyze`),
      close: async () => {
        if (bench.options.statements) await takeStatements(bench.postgres, database, `ours-${bell}`)
        await fleet.close()
      },
    }
  },
})

export const oursRedis = contender('redis', 'Drover, bell on Redis')
export const oursPostgres = contender('postgres', 'Drover, bell on Postgres')
