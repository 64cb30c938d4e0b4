import type { Contender } from '../contender.ts'
import { bullmqPostgres, bullmqRedis } from './bullmq.ts'
import { graphile, graphileBatched } from './graphile.ts'
import { oursPostgres, oursRedis } from './ours.ts'
import { pgBoss, pgBossBatched } from './pg-boss.ts'

export const contenders: readonly Contender[] = [
  oursRedis,
  oursPostgres,
  graphile,
  pgBoss,
  bullmqRedis,
  bullmqPostgres,
  graphileBatched,
  pgBossBatched,
]
