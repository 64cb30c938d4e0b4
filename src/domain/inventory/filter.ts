/** Filters over instances and networks, in CEL: docs/filters.md shows the language. */
export { type CompiledFilter, compileFilter, type FilterOutcome } from './filter/compile-filter.ts'
export { type FilterKind, filterFields, itemTypes } from './filter/fields.ts'
export { FilterError } from './filter/filter-error.ts'
export { allowedFunctions, maxFilterLength } from './filter/language.ts'
export {
  type FilterView,
  type InstanceFilterInput,
  instanceView,
  type NetworkFilterInput,
  networkView,
} from './filter/view.ts'
