import type { OperationLine } from '../../../../db/queries/operations/list-operations.ts'
import { operationView } from '../../../domain/filter/view.ts'
import { compileAsked, type RowTest, testOf } from '../../lists/inventory-filter.ts'
import { viewOperation } from './operation-view.ts'

/** Asks about an operation as its answer shows it. */
export const operationFilter = (text: string | undefined): RowTest<OperationLine> | undefined =>
  text === undefined
    ? undefined
    : testOf(compileAsked(text, 'operation'), (line) => {
        const shown = viewOperation(line)
        return operationView({
          machine: shown.machine,
          target: shown.target,
          kind: shown.kind,
          force: shown.force,
          state: shown.state,
          reason: shown.reason,
          retryable: shown.retryable,
          message: shown.message,
          cause: shown.cause,
          on_conflict: shown.on_conflict,
          progress: shown.progress,
          past_return: shown.past_return,
          settled: shown.settled_at !== null,
          superseded_by: shown.superseded_by ?? '',
          created_by: shown.created_by,
          created_at: shown.created_at,
          started_at: shown.started_at ?? '',
          finished_at: shown.finished_at ?? '',
        })
      })
