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
    state: z.enum(['pending', 'queued']).nullable().openapi({ description: 'How it would begin.' }),
    supersedes: z.uuid().nullable(),
    cancels_entry: z.uuid().nullable().openapi({ description: 'The migration that is given up first.' }),
    before: z.int().openapi({ description: 'How many would be before it.' }),
    reason: operationReason.nullable().openapi({ description: 'Why it would be refused.' }),
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
  summary: 'Ask something of a machine',
  description:
    'One operation is at a machine at a time. The refusal of a newer one names the older in `blocker`. With ' +
    '`dry_run` the answer is what would become of it.',
  request: {
    body: jsonBody(
      z
        .strictObject({
          machine: z
            .string()
            .trim()
            .min(1)
            .max(255)
            .openapi({ description: 'An id, or a name that only one has.' }),
          ...operationShape,
        })
        .openapi('NewOperation', { example: { machine: 'web-01', kind: 'stop', force: true } }),
    ),
  },
  responses: {
    200: json(rehearsalSchema, 'What would become of it'),
    202: json(operationSchema, 'Committed; a worker does it. `Location` is where to look.'),
  },
})

const cancel = defineRoute({
  method: 'post',
  path: '/operations/{id}/:verb{:cancel}',
  role: 'operator',
  tag: operationTag,
  summary: 'Give an operation up',
  description:
    'It ends now, and what it has begun is called off. Refused once it is past its return (`past_return`) or over.',
  request: { params: idParams },
  responses: {
    202: json(operationSchema, 'It is canceled; `settled_at` is set when its effects have stopped'),
  },
})

/** Whether an error is an answer of the admission, not a failure on the way to it. */
export const isRefusal = (error: unknown): error is DroverError & { readonly code: Refusal } =>
  error instanceof DroverError && error.class === 'conflict' && Object.hasOwn(operationReasons, error.code)

/** Writes refusals down, after the rollback; that this may fail changes nothing of what they are answered with. */
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

/** What the admission finds, without its doing. */
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
