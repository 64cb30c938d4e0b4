import type { JudgedEntry } from '../../../db/queries/entries/entries-for-filter.ts'
import type { JudgedLine, LeftOut } from '../../../db/queries/instances/list-instances.ts'
import { type MachineLine, phaseOfLine } from '../../../db/queries/machines/list-machines.ts'
import type { NetworkLine } from '../../../db/queries/sites/list-site-things.ts'
import { type CompiledFilter, compileNewFilter } from '../../domain/filter/compile-filter.ts'
import { type FilterKind, filterFields } from '../../domain/filter/fields.ts'
import { FilterError } from '../../domain/filter/filter-error.ts'
import {
  entryView,
  type FilterView,
  instanceView,
  machineView,
  networkView,
} from '../../domain/filter/view.ts'
import { applyOverrides, type InstanceOverrides } from '../../domain/inventory/overrides.ts'
import { problem } from '../wire/problem.ts'

/** Says of a row whether it fits; throws where it cannot be judged. */
export type RowTest<Row> = (row: Row) => boolean

/** A test of instances, or of what has one, and what of these it does not look at. */
export interface FleetTest<Row> {
  readonly test: RowTest<Row>
  readonly without: LeftOut
}

export type InstanceTest = FleetTest<JudgedLine>

/** Reads a filter that a person sent; nothing, where they sent none. Refuses it with the place of the mistake. */
export const compileAsked = (text: string, kind: FilterKind): CompiledFilter => {
  try {
    return compileNewFilter(text, kind)
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    throw problem(error.code, `${error.message}.\n${error.pointer}`, {
      remedy: error.remedy,
      field: 'filter',
      position: error.position,
      errors: [
        {
          field: 'filter',
          message: error.expected === '' ? error.message : `${error.message}; ${error.expected} would fit`,
        },
      ],
    })
  }
}

export const testOf =
  <Row>(filter: CompiledFilter, view: (row: Row) => FilterView): RowTest<Row> =>
  (row) => {
    const outcome = filter.run(view(row))
    if ('error' in outcome) throw new Error(outcome.error)
    return outcome.match
  }

/** Whether the text may mean this field: it is there as a word, if only inside quotes. */
const mentions = (text: string, field: string): boolean => new RegExp(`\\b${field}\\b`).test(text)

/** From these the system is told, and what overrides are merged with; tags are asked for by functions. */
const alwaysNeeded: ReadonlySet<string> = new Set(['name', 'attributes', 'tags'])
const systemFields = ['os_type', 'distribution', 'distribution_version']
const systemFacts = ['os', 'os_description', 'os_template']
const noSystem = { os: '', os_description: '', os_template: '' }

/** Facts that the text cannot mean. */
const unmentioned = (text: string): string[] =>
  Object.keys(filterFields.instance).filter((field) => !alwaysNeeded.has(field) && !mentions(text, field))

export const instanceFilter = (text: string | undefined): InstanceTest | undefined => {
  if (text === undefined) return undefined
  const filter = compileAsked(text, 'instance')
  // Telling the system takes longer than most filters do.
  const system = [...systemFields, ...systemFacts].some((field) => mentions(text, field))
  const facts = unmentioned(text).filter((field) => !(system && systemFacts.includes(field)))
  const test = testOf<JudgedLine>(filter, (row) =>
    instanceView({
      facts: applyOverrides(
        system ? row.facts : { ...row.facts, ...noSystem },
        row.overrides as InstanceOverrides,
      ),
      source: row.source,
      source_kind: row.sourceKind,
      readiness: row.readiness,
      findings: row.findings,
    }),
  )
  return { test, without: { facts, findings: !mentions(text, 'findings') } }
}

/** The record of an entry has its overrides in it, and its system is told already. */
export const entryFilter = (text: string | undefined): FleetTest<JudgedEntry> | undefined =>
  text === undefined
    ? undefined
    : {
        test: testOf<JudgedEntry>(compileAsked(text, 'entry'), ({ sourceKind, sourceOff, since, ...row }) =>
          entryView({
            ...row,
            source_kind: sourceKind,
            source_off: sourceOff,
            since: since.toISOString(),
          }),
        ),
        without: { facts: unmentioned(text), findings: !mentions(text, 'findings') },
      }

export const networkFilter = (text: string | undefined): RowTest<NetworkLine> | undefined =>
  text === undefined
    ? undefined
    : testOf(compileAsked(text, 'network'), ({ facts, site, siteKind }) =>
        networkView({ facts, source: site, source_kind: siteKind }),
      )

export const machineFilter = (text: string | undefined): RowTest<MachineLine> | undefined =>
  text === undefined
    ? undefined
    : testOf(compileAsked(text, 'machine'), (line) =>
        machineView({
          name: line.name,
          target: line.target,
          project: line.project,
          host: line.host,
          ref: line.ref,
          uuid: line.uuid,
          power: line.power,
          phase: phaseOfLine(line),
          hibernated: line.savedState !== null,
          cpus: line.cpus,
          memory: line.memory,
          run_policy: line.runPolicy,
          origin: line.origin,
          batch: line.batch ?? '',
          in_migration: line.inMigration,
          queued: line.queued,
          operation: line.operationKind ?? '',
        }),
      )
