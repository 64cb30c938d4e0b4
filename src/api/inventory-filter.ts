import type { InstanceLine } from '../../db/queries/list-instances.ts'
import type { NetworkLine } from '../../db/queries/list-site-things.ts'
import { type CompiledFilter, compileFilter } from '../domain/inventory/filter/compile-filter.ts'
import type { FilterKind } from '../domain/inventory/filter/fields.ts'
import { FilterError } from '../domain/inventory/filter/filter-error.ts'
import { type FilterView, instanceView, networkView } from '../domain/inventory/filter/view.ts'
import { applyOverrides, type InstanceOverrides } from '../domain/inventory/overrides.ts'
import { problem } from './problem.ts'

/** Says of a row whether it fits; throws where it cannot be judged. */
export interface RowTest<Row> {
  readonly test: (row: Row) => boolean
  /** Whether the rows must come with the rules that they break. */
  readonly findings: boolean
}

/** Reads a filter that a person sent; nothing, where they sent none. Refuses it with the place of the mistake. */
const compile = (text: string, kind: FilterKind): CompiledFilter => {
  try {
    return compileFilter(text, kind)
  } catch (error) {
    if (!(error instanceof FilterError)) throw error
    throw problem('filter-invalid', `${error.message}.\n${error.pointer}`, {
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

const testOf = <Row>(
  text: string | undefined,
  kind: FilterKind,
  view: (row: Row) => FilterView,
): RowTest<Row> | undefined => {
  if (text === undefined) return undefined
  const filter = compile(text, kind)
  return {
    findings: /\bfindings\b/.test(text),
    test: (row) => {
      const outcome = filter.run(view(row))
      if ('error' in outcome) throw new Error(outcome.error)
      return outcome.match
    },
  }
}

export const instanceFilter = (text: string | undefined): RowTest<InstanceLine> | undefined =>
  testOf(text, 'instance', (row) =>
    instanceView({
      facts: applyOverrides(row.facts, row.overrides as InstanceOverrides),
      source: row.source,
      source_kind: row.sourceKind,
      readiness: row.readiness,
      findings: row.findings,
    }),
  )

export const networkFilter = (text: string | undefined): RowTest<NetworkLine> | undefined =>
  testOf(text, 'network', ({ facts, site, siteKind }) =>
    networkView({ facts, source: site, source_kind: siteKind }),
  )
