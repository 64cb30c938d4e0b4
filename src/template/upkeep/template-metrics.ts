import type { Db } from '../../../db/client.ts'
import { measureTemplates } from '../../../db/queries/templates/measure-templates.ts'
import type { Clock } from '../../clock.ts'
import { templateStates } from '../../domain/template/state.ts'
import type { Logger } from '../../process/log.ts'
import { Loop } from '../../process/service.ts'
import { gauge } from '../../process/telemetry.ts'

const templates = gauge('templates', 'Templates by where they are.', ['state'])
const lost = gauge('templates_lost', 'Templates that were live and whose name points at nothing.')
const orphans = gauge('template_orphans', 'Objects of templates whose removal or renaming has failed so far.')

const intervalMs = 10_000

/** Counts templates for /metrics, on the leader. */
export const templateMetrics = (options: { db: Db; clock: Clock; log: Logger }): Loop =>
  new Loop({
    name: 'template-metrics',
    intervalMs,
    clock: options.clock,
    log: options.log,
    runOnce: async () => {
      const counts = await measureTemplates(options.db)
      for (const state of templateStates) templates.set({ state }, counts.states[state] ?? 0)
      lost.set(counts.lost)
      orphans.set(counts.orphans)
      return false
    },
  })
