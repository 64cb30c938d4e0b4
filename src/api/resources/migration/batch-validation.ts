import type { Queryable } from '../../../../db/client.ts'
import { listWindows } from '../../../../db/queries/batches/batch-rows.ts'
import { listEditedEntries } from '../../../../db/queries/batches/list-batches.ts'
import { countHeldWindows } from '../../../../db/queries/entries/entry-rows.ts'
import { readClock } from '../../../../db/queries/fleet/read-clock.ts'
import { findSiteByName } from '../../../../db/queries/sites/site-rows.ts'
import type { BatchRow } from '../../../../db/schema/migration.ts'
import { compileFilter, compileNewFilter } from '../../../domain/filter/compile-filter.ts'
import { FilterError } from '../../../domain/filter/filter-error.ts'
import { instanceView } from '../../../domain/filter/view.ts'
import type { EffectiveFacts } from '../../../domain/inventory/overrides.ts'
import {
  type BatchShape,
  checkBatchEdit,
  checkBatchWindows,
} from '../../../domain/migration/batch/batch-edit.ts'
import {
  batchConfig,
  batchConstraints,
  batchDefaults,
} from '../../../domain/migration/batch/batch-settings.ts'
import type { BatchState } from '../../../domain/migration/batch/batch-table.ts'
import { checkTwins } from '../../../domain/migration/batch/constraint-twins.ts'
import type { EntryStage, EntryState } from '../../../domain/migration/entry/entry.ts'
import type { NewWindow } from '../../../domain/migration/schedule/windows.ts'
import { viewWindow } from '../../../migration/entry/batch-view.ts'
import { type FieldError, problem, validationProblem } from '../../wire/problem.ts'
import type { BatchBody } from './batch-view.ts'

/** A field that is called `windows` by the rules is called `migration_windows` by the API. */
const apiField = (field: string): string => field.replace(/^windows\b/, 'migration_windows')

/** Every expression of a batch with the field it stands in. */
const expressionsOf = (body: BatchBody): (readonly [field: string, text: string])[] => [
  ['include_expression', body.include_expression],
  ...body.constraints.map(
    ({ include_expression }, at) => [`constraints.${at}.include_expression`, include_expression] as const,
  ),
  ...body.probes.map(
    ({ include_expression }, at) => [`probes.${at}.include_expression`, include_expression] as const,
  ),
]

/** Refuses the first expression that is not valid, with a caret under the mistake, and names the others. */
export const checkExpressions = (body: BatchBody): void => {
  const wrong = expressionsOf(body).flatMap(([field, text]) => {
    try {
      compileNewFilter(text, 'instance')
      return []
    } catch (error) {
      if (error instanceof FilterError) return [{ field, error }]
      throw error
    }
  })
  const [first] = wrong
  if (!first) return
  throw problem(first.error.code, `${first.error.message}.\n${first.error.pointer}`, {
    remedy: first.error.remedy,
    field: first.field,
    position: first.error.position,
    errors: wrong.map(({ field, error }) => ({
      field,
      message: error.expected === '' ? error.message : `${error.message}; ${error.expected} would fit`,
    })),
  })
}

/** Names of targets that do not exist, by the field they stand in. */
const checkTargets = async (db: Queryable, body: BatchBody): Promise<FieldError[]> => {
  const named = [
    ['defaults.placement.target', body.defaults.placement.target] as const,
    ...body.defaults.migration_network.map(
      ({ target }, at) => [`defaults.migration_network.${at}.target`, target] as const,
    ),
  ]
  const errors: FieldError[] = []
  const known = new Map<string, boolean>()
  for (const [field, name] of named) {
    if (!known.has(name)) known.set(name, (await findSiteByName(db, 'target', name)) !== undefined)
    if (known.get(name) !== true) errors.push({ field, message: `is no target: there is no "${name}"` })
  }
  return errors
}

const windowsOf = (body: BatchBody): NewWindow[] =>
  body.migration_windows.map(({ name, start, end, lockout, capacity }) => ({
    name,
    startsAt: start === null ? null : Date.parse(start),
    endsAt: end === null ? null : Date.parse(end),
    lockoutAt: lockout === null ? null : Date.parse(lockout),
    capacity,
  }))

const refuseAll = (errors: readonly FieldError[]): void => {
  if (errors.length > 0) throw validationProblem(errors)
}

const asErrors = (problems: readonly { field: string; message: string }[]): FieldError[] =>
  problems.map(({ field, message }) => ({ field: apiField(field), message }))

/** Refuses a new batch that cannot be, with everything that is wrong. */
export const checkNewBatch = async (db: Queryable, body: BatchBody): Promise<void> => {
  const now = (await readClock(db)).getTime()
  const windows = checkBatchWindows({
    now,
    windowsBefore: [],
    windowsAfter: windowsOf(body),
    held: new Map(),
  })
  const twins = checkTwins(body.constraints, [])
  refuseAll([...(await checkTargets(db, body)), ...asErrors([...twins, ...windows])])
}

const shapeOf = (body: BatchBody): BatchShape => ({
  name: body.name,
  include_expression: body.include_expression,
  defaults: body.defaults,
  config: body.config,
  constraints: body.constraints,
})

const shapeOfRow = (row: BatchRow): BatchShape => {
  const { probes: _probes, ...config } = row.config
  return {
    name: row.name,
    include_expression: row.includeExpression,
    defaults: batchDefaults.parse(row.defaults),
    config: batchConfig.parse(config),
    constraints: batchConstraints.parse(row.constraints),
  }
}

/** Refuses a change that cannot be made now: field, reason, and until when. The caller holds the batch's lock. */
export const checkChangedBatch = async (db: Queryable, row: BatchRow, body: BatchBody): Promise<void> => {
  const entries = await listEditedEntries(db, row.id)
  const views = new Map(
    entries.flatMap(({ id, facts, source, sourceKind, findings }) =>
      facts === null
        ? []
        : [
            [
              id,
              instanceView({
                facts: facts as unknown as EffectiveFacts,
                source,
                source_kind: sourceKind,
                readiness: 'ready',
                findings,
              }),
            ] as const,
          ],
    ),
  )
  const problems = checkBatchEdit({
    state: row.state as BatchState,
    before: shapeOfRow(row),
    after: shapeOf(body),
    entries: entries.map(({ id, state, stage, reason, errorCode }) => ({
      id,
      state: state as EntryState,
      stage: stage as EntryStage,
      // Restrictions block as well; what its job was refused for, or is tried again for, a better script may mend.
      placementFailed:
        state === 'blocked' && errorCode !== null && (reason === errorCode || reason === 'place-instance'),
    })),
    matches: matcher(views),
    now: (await readClock(db)).getTime(),
    windowsBefore: (await listWindows(db, row.id)).map(viewWindow),
    windowsAfter: windowsOf(body),
    held: await countHeldWindows(db, row.id),
  })
  const renamed =
    body.name !== row.name && entries.length > 0 && row.state === 'defined'
      ? [{ field: 'name', message: 'Entries of it are still there: it can be renamed when they are gone.' }]
      : []
  refuseAll([...(await checkTargets(db, body)), ...renamed, ...asErrors(problems)])
}

/** Whether an expression matches an entry's instance; each is compiled once. */
const matcher = (views: ReadonlyMap<string, ReturnType<typeof instanceView>>) => {
  const compiled = new Map<string, ReturnType<typeof compileFilter>>()
  return (expression: string, id: string): boolean => {
    const view = views.get(id)
    if (!view) return false
    const filter = compiled.get(expression) ?? compileFilter(expression, 'instance')
    compiled.set(expression, filter)
    const outcome = filter.run(view)
    return 'match' in outcome && outcome.match
  }
}

/** The windows of a body as rows; one that keeps its name keeps its id. */
export const windowRows = (body: BatchBody, newId: () => string) =>
  windowsOf(body).map(({ name, startsAt, endsAt, lockoutAt, capacity }) => ({
    id: newId(),
    name,
    startsAt: startsAt === null ? null : new Date(startsAt),
    endsAt: endsAt === null ? null : new Date(endsAt),
    lockoutAt: lockoutAt === null ? null : new Date(lockoutAt),
    capacity,
  }))
