import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import {
  findMachineById,
  findMachinesCalled,
  type NamedMachine,
} from '../../../../db/queries/machines/find-operated-machine.ts'
import { conflictRules } from '../../../domain/operation/admission/admit.ts'
import { mayForce, operationKinds } from '../../../domain/operation/kinds/kinds.ts'
import { operationParams } from '../../../domain/operation/kinds/params.ts'
import { timeBounds, usualTimes } from '../../../domain/operation/kinds/times.ts'
import type { OperationAsk } from '../../../operation/admission/ask-operation.ts'
import { type FieldError, fieldErrors, problem, validationProblem } from '../../wire/problem.ts'
import { anything } from '../../wire/schemas.ts'

const seconds = ({ least, most }: { readonly least: number; readonly most: number }) =>
  z.int().min(least).max(most).optional()

/** What an operation is, whichever machines it is for. */
export const operationShape = {
  kind: z.enum(operationKinds),
  force: z.boolean().default(false).openapi({
    description: 'For stop and restart: pulls the plug. For migrate and evict: slows the guest down.',
  }),
  params: anything.default({}).openapi({
    description:
      'snapshot: `name`, `memory`, `quiesce`; restore: `snapshot`; clone: `name`, `folder`; wake: `host`, `cold`; migrate: `host`.',
  }),
  on_conflict: z
    .enum(conflictRules)
    .default('supersede')
    .openapi({
      description:
        'When another is at the machine: take its place where GET /v1/operations/matrix allows it, wait behind it, or ' +
        'be refused. Where its place cannot be taken it is refused.',
    }),
  deadline_seconds: seconds(timeBounds.deadlineSeconds).openapi({
    description:
      'From its beginning to its end; waiting does not count. By default what is usual for its kind.',
  }),
  wait_seconds: seconds(timeBounds.waitSeconds).openapi({
    description: 'How long it may wait for its turn. By default what is usual for its kind.',
  }),
  dry_run: z
    .boolean()
    .default(false)
    .openapi({ description: 'Says what would become of it; changes nothing.' }),
}

const ofShape = z.object(operationShape)

/** Checks what depends on the kind, every field of it, and fills in what was not said. */
export const readAsk = (
  body: z.infer<typeof ofShape>,
  by: string,
): Omit<OperationAsk, 'machineId' | 'by'> & { readonly by: string } => {
  const errors: FieldError[] = []
  if (body.force && !mayForce(body.kind))
    errors.push({ field: 'force', message: `means nothing for ${body.kind}: leave it out` })
  const params = operationParams[body.kind].safeParse(body.params)
  if (!params.success) errors.push(...fieldErrors(params.error, 'params'))
  if (!params.success || errors.length > 0) throw validationProblem(errors)
  const usual = usualTimes[body.kind]
  return {
    kind: body.kind,
    force: body.force,
    params: params.data as Record<string, unknown>,
    onConflict: body.on_conflict,
    cause: 'person',
    by,
    deadlineSeconds: body.deadline_seconds ?? usual.deadlineSeconds,
    waitSeconds: body.wait_seconds ?? usual.waitSeconds,
  }
}

const isId = (text: string): boolean => z.uuid().safeParse(text).success

/** The machine of that id, or the only one of that name that is there; one that is gone is for the admission to refuse. */
export const requireMachine = async (db: Queryable, machine: string): Promise<NamedMachine> => {
  const found = isId(machine)
    ? [await findMachineById(db, machine)].filter((one) => one !== undefined)
    : await findMachinesCalled(db, machine)
  const there = found.filter(({ gone }) => !gone)
  const [only] = there
  if (only && there.length === 1) return only
  if (there.length > 1)
    throw problem('machine-ambiguous', `Several machines are called ${machine}.`, {
      field: 'machine',
      errors: there.map(({ id, target }) => ({ field: 'machine', message: `${id} on ${target}` })),
    })
  const [gone] = found
  if (gone) return gone
  throw problem('machine-unknown', `There is no machine ${machine}.`, { field: 'machine' })
}
