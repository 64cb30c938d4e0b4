import type { Context } from 'hono'
import { type FindingLine, findingsByInstance } from '../../../db/queries/findings.ts'
import { type InstanceLine, type JudgedLine, listInstances } from '../../../db/queries/list-instances.ts'
import { findRule } from '../../domain/inventory/rules/catalogue.ts'
import { csvLine } from '../csv.ts'
import type { ApiDeps, ApiEnv } from '../env.ts'
import type { RowTest } from '../inventory-filter.ts'
import { pacer } from '../pace.ts'
import { streamText } from '../text-stream.ts'
import { viewInstanceSummary } from './instance-view.ts'

const pageRows = 500

const columns = [
  'source',
  'name',
  'location',
  'uuid',
  'readiness',
  'os_type',
  'distribution',
  'distribution_version',
  'cpus',
  'memory',
  'disks',
  'disk_bytes',
  'rule',
  'severity',
  'waived',
  'title',
  'evidence',
  'remedy',
  'instance_id',
  'error',
]

interface Asked {
  readonly source: string | undefined
  readonly test: RowTest<JudgedLine> | undefined
}

/** The assessment as CSV: a line for each instance and rule, and one without a rule where none is broken. */
export const streamAssessment = (c: Context<ApiEnv>, deps: ApiDeps, asked: Asked): Response =>
  streamText(c, deps, {
    type: 'text/csv; charset=utf-8',
    fileName: 'assessment.csv',
    pieces: (signal) => linesOf(deps, asked, signal),
  })

async function* linesOf(deps: ApiDeps, asked: Asked, signal: AbortSignal): AsyncGenerator<string> {
  yield csvLine(columns)
  const breathe = pacer(deps.clock)
  let after: string | undefined
  for (;;) {
    signal.throwIfAborted()
    const rows = await listInstances(
      deps.db,
      { source: asked.source, ignored: false, gone: false, migrated: false },
      { after, limit: pageRows },
    )
    const fitting: ReturnType<typeof judged> = []
    for (const row of rows) {
      fitting.push(...judged(row, asked.test))
      await breathe()
    }
    const byInstance = await findingsByInstance(
      deps.db,
      fitting.map(({ row }) => row.id),
    )
    const text = fitting
      .flatMap(({ row, error }) => linesOfInstance(row, byInstance.get(row.id) ?? [], error))
      .join('')
    if (text !== '') yield text
    if (rows.length < pageRows) return
    after = rows.at(-1)?.id
  }
}

/** What the filter cannot judge is not left out silently: it gets a line that says why. */
const judged = (row: InstanceLine, test: Asked['test']): { row: InstanceLine; error: string | null }[] => {
  try {
    return test === undefined || test(row) ? [{ row, error: null }] : []
  } catch (thrown) {
    return [{ row, error: thrown instanceof Error ? thrown.message : String(thrown) }]
  }
}

const linesOfInstance = (
  row: InstanceLine,
  findings: readonly FindingLine[],
  error: string | null,
): string[] => {
  const facts = viewInstanceSummary(row)
  const start = [
    facts.source,
    facts.name,
    facts.location,
    facts.uuid,
    facts.readiness,
    facts.os_type,
    facts.distribution,
    facts.distribution_version,
    facts.cpus,
    facts.memory,
    facts.disks,
    facts.disk_bytes,
  ]
  if (error !== null) return [csvLine([...start, '', '', '', '', '', '', row.id, error])]
  if (findings.length === 0) return [csvLine([...start, '', '', '', '', '', '', row.id, ''])]
  return findings.map(({ rule, severity, waived, evidence }) => {
    const { title, remedy } = findRule(rule) ?? { title: rule, remedy: '' }
    return csvLine([
      ...start,
      rule,
      severity,
      waived,
      title,
      evidence.join(' '),
      waived ? '' : remedy,
      row.id,
      '',
    ])
  })
}
