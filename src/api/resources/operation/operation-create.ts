import { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Tx } from '../../../../db/client.ts'
import type { Admission, Refusal } from '../../../domain/operation/admission/admit.ts'
import { operationReasons } from '../../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../../errors.ts'
import { nudgeCancel } from '../../../ledger/jobs/cancel.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import {
  type AskedOperation,
  askOperation,
  type OperationAsk,
} from '../../../operation/admission/ask-operation.ts'
import { cancelOperation } from '../../../operation/admission/cancel-operation.ts'
import {
  type RefusedAsk,
  recordCancelRefusal,
  recordRefusals,
} from '../../../operation/admission/record-refusal.ts'
import { rehearseOperation } from '../../../operation/admission/rehearse.ts'
import type { ApiDeps, ApiEnv } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, idParams, json, jsonBody, newResource } from '../../http/route.ts'
import { operationShape, readAsk, requireMachine } from './operation-ask.ts'
import { operationReason, operationSchema, viewOperation } from './operation-view.ts'
import { operationTag, requireOperation } from './operations.ts'

const rehearsalSchema = z
  .object({
    dry_run: z.literal(true),
    machine_id: z.uuid(),
    machine: z.string(),
    admitted: z.boolean(),
    state: z.enum(['pending', 'queued']).nullable().openapi({ description: 'The state after admission.' }),
    supersedes: z.uuid().nullable(),
    cancels_entry: z
      .uuid()
      .nullable()
      .openapi({ description: 'The migration that would be cancelled first.' }),
    before: z.int().openapi({ description: 'Number of operations that would be before it.' }),
    reason: operationReason.nullable().openapi({ description: 'The reason of the refusal.' }),
    message: z.string().nullable(),
    remedy: z.string().nullable(),
    blocker: z.uuid().nullable(),
  })
  .openapi('OperationRehearsal')
type Rehearsal = z.infer<typeof rehearsalSchema>

const create = defineRoute({
  method: 'post',
  path: '/operations',
  role: 'operator',
  tag: operationTag,
  summary: 'Request an operation on a machine',
  description:
    'One operation runs on a machine at a time. A refusal names the blocking operation in `blocker`. With ' +
    '`dry_run` the answer shows what would happen, and nothing is changed.',
  request: {
    body: jsonBody(
      z
        .strictObject({
          machine: z
            .string()
            .trim()
            .min(1)
            .max(255)
            .openapi({ description: 'The id of a machine, or its name when that name is unique.' }),
          ...operationShape,
        })
        .openapi('NewOperation', { example: { machine: 'web-01', kind: 'stop', force: true } }),
    ),
  },
  responses: {
    200: json(rehearsalSchema, 'Dry run: what would happen'),
    202: json(operationSchema, 'Accepted and stored; a worker runs it. `Location` is the operation.'),
  },
})

const cancel = defineRoute({
  method: 'post',
  path: '/operations/{id}/:verb{:cancel}',
  role: 'operator',
  tag: operationTag,
  summary: 'Cancel an operation',
  description:
    'The operation ends now, and its job is cancelled. Refused when it is past its return (`past_return`) or has ended.',
  request: { params: idParams },
  responses: {
    202: json(
      operationSchema,
      'The operation is canceled; `settled_at` is set when its effects have stopped',
    ),
  },
})

/** Whether an error is a refusal by the admission, and not a failure. */
export const isRefusal = (error: unknown): error is DroverError & { readonly code: Refusal } =>
  error instanceof DroverError && error.class === 'conflict' && Object.hasOwn(operationReasons, error.code)

/** Records refusals after the rollback. When that fails, the answer to the client stays the same. */
export const writeRefusals = async (
  c: Context<ApiEnv>,
  deps: ApiDeps,
  refused: readonly RefusedAsk[],
): Promise<void> => {
  await recordRefusals(deps.db, refused).catch(notWritten(c))
}

const notWritten = (c: Context<ApiEnv>) => (error: unknown) =>
  c.get('log').warn({ err: error }, 'refusals were not written down')

/** After the commit. */
export const tellWorkers = (deps: ApiDeps, asked: readonly Pick<AskedOperation, 'canceled'>[]): void => {
  for (const { canceled } of asked) for (const outcome of canceled) nudgeCancel(deps.db, outcome)
  nudge(deps.db)
}

/** Decides the admission without changing anything. */
export const rehearse = async (
  tx: Tx,
  ask: OperationAsk,
): Promise<Admission & { readonly error?: DroverError }> => {
  try {
    return (await rehearseOperation(tx, ask)).admission
  } catch (error) {
    if (!isRefusal(error)) throw error
    const blocker = error.detail?.blocker
    return {
      admitted: false,
      reason: error.code,
      blocker: typeof blocker === 'string' ? blocker : null,
      error,
    }
  }
}

const viewRehearsal = (
  machine: { readonly id: string; readonly name: string },
  found: Awaited<ReturnType<typeof rehearse>>,
): Rehearsal => {
  const of = { dry_run: true as const, machine_id: machine.id, machine: machine.name }
  if (!found.admitted)
    return {
      ...of,
      admitted: false,
      state: null,
      supersedes: null,
      cancels_entry: null,
      before: 0,
      reason: found.reason,
      blocker: found.blocker,
      message: found.error?.message ?? null,
      remedy: found.error?.remedy ?? null,
    }
  return {
    ...of,
    admitted: true,
    state: found.state,
    supersedes: found.supersedes,
    cancels_entry: found.cancelsEntry,
    before: found.before,
    reason: null,
    message: null,
    remedy: null,
    blocker: null,
  }
}

/** `POST /operations` and `/operations/{id}/:cancel`. */
export const operationCreate = (deps: ApiDeps) =>
  newResource()
    .openapi(create, async (c) => {
      const { machine: named, dry_run: dry, ...body } = c.req.valid('json')
      const told = readAsk({ ...body, dry_run: dry }, c.get('actor').name)
      if (dry) {
        const answer = await once(c, deps, async (tx) => {
          const machine = await requireMachine(tx, named)
          const found = await rehearse(tx, { ...told, machineId: machine.id })
          return { status: 200 as const, body: viewRehearsal(machine, found) }
        })
        return c.json(answer.body, 200)
      }
      let ask: OperationAsk | undefined
      const asked: AskedOperation[] = []
      try {
        const answer = await once(c, deps, async (tx) => {
          ask = { ...told, machineId: (await requireMachine(tx, named)).id }
          const made = await askOperation(tx, ask)
          asked.push(made)
          const { id } = made.operation
          return {
            status: 202 as const,
            body: viewOperation(await requireOperation(tx, id, deps.leaseMs)),
            headers: { Location: `/v1/operations/${id}` },
          }
        })
        tellWorkers(deps, asked)
        return c.json(answer.body, 202)
      } catch (error) {
        if (ask && isRefusal(error)) await writeRefusals(c, deps, [{ ask, error }])
        throw error
      }
    })
    .openapi(cancel, async (c) => {
      const { id } = c.req.valid('param')
      const by = c.get('actor').name
      let canceled: AskedOperation['canceled'] = []
      const answer = await once(c, deps, async (tx) => {
        const done = await cancelOperation(tx, { id, by })
        canceled = done.canceled ? [done.canceled] : []
        return {
          status: 202 as const,
          body: viewOperation(await requireOperation(tx, id, deps.leaseMs)),
          headers: { Location: `/v1/operations/${id}` },
        }
      }).catch(async (error: unknown) => {
        await recordCancelRefusal(deps.db, { id, by, error }).catch(notWritten(c))
        throw error
      })
      tellWorkers(deps, [{ canceled }])
      return c.json(answer.body, 202)
    })
