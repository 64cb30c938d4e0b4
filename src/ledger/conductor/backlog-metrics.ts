import type { Db } from '../../../db/client.ts'
import { countDebts } from '../../../db/queries/effects/count-debts.ts'
import { countRunningTwice } from '../../../db/queries/instances/find-running-twice.ts'
import { measureBacklog } from '../../../db/queries/jobs/measure-backlog.ts'
import type { Clock } from '../../clock.ts'
import { jobKinds } from '../../domain/job/kinds/registry.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import { gauge } from '../../process/telemetry.ts'

const jobs = gauge('backlog_jobs', 'Jobs that are not over, by kind and where they stand.', ['kind', 'stage'])
const oldest = gauge(
  'backlog_oldest_seconds',
  'How long the oldest job that could run has been waiting for a worker, by kind.',
  ['kind'],
)
const debts = gauge('effect_debts', 'Effects outside that must still be undone.')

const twice = gauge(
  'vms_running_twice',
  'VMs of which two machines run, or that share a MAC address with another.',
)

const stages = ['due', 'rung', 'held', 'waiting', 'running'] as const
const intervalMs = 10_000

/** Exports the backlog metrics on the leader: one process reports for the whole fleet. */
export const backlogMetrics = (options: { db: Db; clock: Clock; log: Logger }): Loop =>
  new Loop({
    name: 'backlog-metrics',
    intervalMs,
    clock: options.clock,
    log: options.log,
    runOnce: async () => {
      const lines = await measureBacklog(options.db)
      for (const { kind } of jobKinds) {
        const ofKind = lines.filter((line) => line.kind === kind)
        for (const stage of stages)
          jobs.set({ kind, stage }, ofKind.find((line) => line.stage === stage)?.jobs ?? 0)
        oldest.set({ kind }, Math.max(0, ...ofKind.map((line) => line.oldestSeconds)))
      }
      debts.set((await countDebts(options.db)).debts)
      twice.set(await countRunningTwice(options.db))
      return false
    },
  })
