import type { Queryable } from '../../../db/client.ts'
import { findBatchById, listWindows } from '../../../db/queries/batches/batch-rows.ts'
import type { BatchRow, WindowRow } from '../../../db/schema/migration.ts'
import { type CompiledFilter, compileFilter } from '../../domain/filter/compile-filter.ts'
import type { FilterView } from '../../domain/filter/view.ts'
import {
  type BatchConfig,
  type BatchDefaults,
  type BatchProbe,
  batchConfig,
  batchConstraints,
  batchDefaults,
  batchProbes,
} from '../../domain/migration/batch/batch-settings.ts'
import type { Constraint, Window } from '../../domain/migration/schedule/windows.ts'
import { durationMs } from '../../domain/text/duration.ts'

/** A batch as decisions about its entries see it. */
export interface BatchView {
  readonly row: BatchRow
  readonly defaults: BatchDefaults
  readonly config: BatchConfig
  /** The ports that the probes of the batch check on an instance, each with the names of those probes. */
  readonly probedPorts: (view: FilterView) => ReadonlyMap<number, readonly string[]>
  readonly windows: readonly Window[]
  /** The last constraint that matches. */
  readonly constraintOf: (view: FilterView) => Constraint | null
  /** Windows or constraints have a limit: their room is given out by one transaction at a time. */
  readonly scarce: boolean
}

export const readBatchView = async (db: Queryable, batchId: string): Promise<BatchView | undefined> => {
  const row = await findBatchById(db, batchId)
  return row && viewBatch(row, await listWindows(db, batchId))
}

export const viewBatch = (row: BatchRow, windows: readonly WindowRow[]): BatchView => {
  const constraints = batchConstraints.parse(row.constraints).map((constraint) => ({
    filter: compileFilter(constraint.include_expression, 'instance'),
    constraint: {
      name: constraint.name,
      maxConcurrent: constraint.max_concurrent_instances,
      minBootMs: durationMs(constraint.min_instance_boot_time),
    },
  }))
  const { probes, ...config } = row.config
  return {
    row,
    defaults: batchDefaults.parse(row.defaults),
    config: batchConfig.parse(config),
    probedPorts: portsAsked(batchProbes.parse(probes)),
    windows: windows.map(viewWindow),
    constraintOf: (view) => constraints.findLast(({ filter }) => matches(filter, view))?.constraint ?? null,
    scarce: windows.length > 0 || constraints.length > 0,
  }
}

const portsAsked = (probes: readonly BatchProbe[]): BatchView['probedPorts'] => {
  const asked = probes.map((probe) => ({
    filter: compileFilter(probe.include_expression, 'instance'),
    probe,
  }))
  return (view) => {
    const matching = asked.filter(({ filter }) => matches(filter, view)).map(({ probe }) => probe)
    const ports = [...new Set(matching.flatMap((probe) => probe.ports))].sort((a, b) => a - b)
    const asking = (port: number) => matching.filter((probe) => probe.ports.includes(port))
    return new Map(ports.map((port) => [port, asking(port).map(({ name }) => name)]))
  }
}

/** A filter that cannot be evaluated for an instance does not match it. */
const matches = (filter: CompiledFilter, view: FilterView): boolean => {
  const outcome = filter.run(view)
  return 'match' in outcome && outcome.match
}

export const viewWindow = (row: WindowRow): Window => ({
  id: row.id,
  name: row.name,
  startsAt: row.startsAt?.getTime() ?? null,
  endsAt: row.endsAt?.getTime() ?? null,
  lockoutAt: row.lockoutAt?.getTime() ?? null,
  capacity: row.capacity,
})
