import type { Context } from 'hono'
import { type FindingLine, findingsByInstance } from '../../../../db/queries/instances/findings.ts'
import {
  type InstanceLine,
  type JudgedLine,
  listInstances,
} from '../../../../db/queries/instances/list-instances.ts'
import { findRule } from '../../../domain/inventory/rules/catalogue.ts'
import type { ApiDeps, ApiEnv } from '../../http/env.ts'
import type { Slices } from '../../http/filter-turns.ts'
import { instanceFilter, type RowTest } from '../../lists/inventory-filter.ts'
import { streamText } from '../../lists/text-stream.ts'
import { csvLine } from '../../wire/csv.ts'
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
  readonly actor: string
}

/**
 * The assessment as CSV: a line for each instance and rule, and one without a rule where none is broken. A filter that
 * cannot be is refused before the first line.
 */
export const streamAssessment = async (
  c: Context<ApiEnv>,
  deps: ApiDeps,
  { source, filter }: { readonly source: string | undefined; readonly filter: string | undefined },
): Promise<Response> => {
  const actor = c.get('actor').name
  const test = await deps.filters.ask({ actor, filter }, () => Promise.resolve(instanceFilter(filter)?.test))
  return streamText(c, deps, {
    type: 'text/csv; charset=utf-8',
    fileName: 'assessment.csv',
    pieces: (signal) => linesOf(deps, { source, test, actor }, signal),
  })
}

async function* linesOf(deps: ApiDeps, asked: Asked, signal: AbortSignal): AsyncGenerator<string> {
  yield csvLine(columns)
  let after: string | undefined
  for (;;) {
    signal.throwIfAborted()
    // A reader takes as long as it likes between two pages, and holds nobody up meanwhile.
    const from = after
    const page = await deps.filters.whenFree(asked.actor, (slices) => readPage(deps, asked, { from, slices }))
    if (page.text !== '') yield page.text
    if (page.last === null) return
    after = page.last
  }
}

const readPage = async (
  deps: ApiDeps,
  asked: Asked,
  { from, slices }: { readonly from: string | undefined; readonly slices: Slices },
): Promise<{ readonly text: string; readonly last: string | null }> => {
  const rows = await listInstances(
    deps.db,
    { source: asked.source, ignored: false, gone: false, migrated: false },
    { after: from, limit: pageRows },
  )
  const fitting: ReturnType<typeof judged> = []
  for (const row of rows) {
    await slices.next()
    fitting.push(...judged(row, asked.test))
  }
  const byInstance = await findingsByInstance(
    deps.db,
    fitting.map(({ row }) => row.id),
  )
  const text = fitting
    .flatMap(({ row, error }) => linesOfInstance(row, byInstance.get(row.id) ?? [], error))
    .join('')
  return { text, last: rows.length < pageRows ? null : (rows.at(-1)?.id ?? null) }
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
