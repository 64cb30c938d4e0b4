import { z } from '@hono/zod-openapi'
import type { Queryable, Tx } from '../../../../db/client.ts'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import { findMachinesCalled } from '../../../../db/queries/machines/find-operated-machine.ts'
import {
  listMachines,
  type MachineFilter,
  type MachineLine,
  phaseOfLine,
  readMachine,
  writeRunPolicy,
} from '../../../../db/queries/machines/list-machines.ts'
import { lockMachine } from '../../../../db/queries/machines/machine-rows.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import type { RunPolicy } from '../../../domain/operation/kinds/applicability.ts'
import type { MachinePhase } from '../../../domain/operation/kinds/phase.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import type { ApiDeps } from '../../http/env.ts'
import type { Slices } from '../../http/filter-turns.ts'
import { defineRoute, ifMatchHeaders, json, jsonBody, newResource } from '../../http/route.ts'
import { machineFilter, type RowTest } from '../../lists/inventory-filter.ts'
import { scanFields, scanShape } from '../../lists/scan.ts'
import { wholePage } from '../../lists/whole-page.ts'
import { pageOf, pageQuery } from '../../wire/page.ts'
import { etagOf, requireVersion } from '../../wire/preconditions.ts'
import { notFound, problem } from '../../wire/problem.ts'
import {
  machineOrigin,
  machinePhase,
  machinePower,
  machineSchema,
  runPolicy,
  viewMachine,
} from './machine-view.ts'

const tag = 'Machines'

const word = z.string().max(255).optional()

/** Which machines are meant. */
export const machineChoice = {
  target: nameSchema.optional(),
  host: word.openapi({ description: 'By name.' }),
  project: word,
  power: machinePower.optional(),
  phase: machinePhase.optional(),
  run_policy: runPolicy.optional(),
  origin: machineOrigin.optional(),
  name: word.openapi({ description: 'A part of the name, in any case.' }),
  filter: z.string().max(4_096).optional().openapi({
    description: 'CEL over the fields of a machine.',
    example: 'phase == "stopped" && run_policy == "always-on"',
  }),
}

const goneChoice = z
  .enum(['false', 'true'])
  .default('false')
  .openapi({ description: 'Also those that are no longer on their target.' })

const machineParams = z.object({
  id: z
    .string()
    .min(1)
    .max(255)
    .openapi({ param: { name: 'id', in: 'path' }, description: 'An id, or a name that only one has.' }),
})

const list = defineRoute({
  method: 'get',
  path: '/machines',
  role: 'viewer',
  tag,
  summary: 'List the machines of targets, the longest known first',
  description:
    'With `phase` or a filter a page may hold fewer than `limit`, or none, while `next_cursor` is not null: the time ' +
    'of the request was over; go on with the cursor.',
  request: { query: pageQuery.extend({ ...machineChoice, include_gone: goneChoice }) },
  responses: {
    200: json(pageOf(machineSchema, 'MachinePage').extend(scanShape).openapi('MachinePage'), 'A page'),
  },
})

const show = defineRoute({
  method: 'get',
  path: '/machines/{id}',
  role: 'viewer',
  tag,
  summary: 'Show a machine: where it is, what it does, what is at it',
  request: { params: machineParams },
  responses: { 200: json(machineSchema, 'The machine; its ETag is for If-Match') },
})

const change = defineRoute({
  method: 'patch',
  path: '/machines/{id}',
  role: 'operator',
  tag,
  summary: 'Decide who decides whether a machine runs',
  description:
    'always-on: it is started whenever it is off; always-on-unless-stopped: but not after a person has stopped it; ' +
    'always-off: it is stopped whenever it runs; manual: it is as people leave it. An operation that is under way goes on.',
  request: {
    params: machineParams,
    headers: ifMatchHeaders,
    body: jsonBody(
      z
        .strictObject({ run_policy: runPolicy })
        .openapi('MachineChange', { example: { run_policy: 'always-on' } }),
    ),
  },
  responses: { 200: json(machineSchema, 'The policy holds now') },
})

interface Choice {
  readonly target?: string | undefined
  readonly host?: string | undefined
  readonly project?: string | undefined
  readonly power?: string | undefined
  readonly phase?: MachinePhase | undefined
  readonly run_policy?: RunPolicy | undefined
  readonly origin?: string | undefined
  readonly name?: string | undefined
  readonly filter?: string | undefined
  readonly include_gone?: 'false' | 'true'
}

/** A choice as the database and a test of each row make it; no test: the database's word is enough. */
export const chooseMachines = (
  query: Choice,
): { readonly filter: MachineFilter; readonly test: RowTest<MachineLine> | undefined } => {
  const { phase, filter, run_policy: policy, include_gone: gone, ...same } = query
  const { target, host, project, power, origin, name } = same
  const fits = machineFilter(filter)
  return {
    filter: { target, host, project, power, origin, name, runPolicy: policy, includeGone: gone === 'true' },
    test: phase === undefined ? fits : (line) => phaseOfLine(line) === phase && (fits?.(line) ?? true),
  }
}

const machinePage = async (
  deps: ApiDeps,
  query: Choice & { readonly limit: number; readonly cursor?: string | undefined },
  slices: Slices | undefined,
) => {
  const { filter, test } = chooseMachines(query)
  const { outcome, ...page } = await wholePage<MachineLine, z.infer<typeof machineSchema>>(deps, query, {
    name: 'machines',
    read: (after, limit) => listMachines(deps.db, filter, { after, limit }),
    test,
    slices,
    item: viewMachine,
  })
  return { ...page, ...scanFields(outcome) }
}

const isId = (text: string): boolean => z.uuid().safeParse(text).success

/** The machine of that id, gone or not; or the only one of that name that is there. */
const requireMachineLine = async (db: Queryable, asked: string): Promise<MachineLine> => {
  const named = isId(asked) ? [] : (await findMachinesCalled(db, asked)).filter(({ gone }) => !gone)
  if (named.length > 1)
    throw problem('machine-ambiguous', `Several machines are called ${asked}.`, {
      field: 'id',
      errors: named.map(({ id, target }) => ({ field: 'id', message: `${id} on ${target}` })),
    })
  const id = isId(asked) ? asked : named[0]?.id
  const line = id === undefined ? undefined : await readMachine(db, id)
  if (!line) throw notFound('machine', asked)
  return line
}

const changePolicy = async (
  tx: Tx,
  asked: {
    readonly id: string
    readonly ifMatch: string | undefined
    readonly runPolicy: RunPolicy
    readonly by: string
  },
): Promise<MachineLine> => {
  const { id } = await requireMachineLine(tx, asked.id)
  const machine = await lockMachine(tx, id)
  if (!machine) throw notFound('machine', asked.id)
  requireVersion(asked.ifMatch, machine.version)
  if (machine.goneAt !== null) throw problem('machine-gone', `${machine.name} is gone from its target.`)
  if (machine.runPolicy !== asked.runPolicy) {
    await writeRunPolicy(tx, id, asked.runPolicy)
    await insertAuditEvent(tx, {
      type: 'machine.run-policy-changed',
      subject: { type: 'machine', id },
      actor: asked.by,
      from: machine.runPolicy,
      to: asked.runPolicy,
      detail: { name: machine.name },
    })
  }
  return requireMachineLine(tx, id)
}

/** `/machines`. */
export const machines = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => {
      const query = c.req.valid('query')
      const asked = { actor: c.get('actor').name, filter: query.filter }
      return c.json(await deps.filters.ask(asked, (slices) => machinePage(deps, query, slices)), 200)
    })
    .openapi(show, async (c) => {
      const line = await requireMachineLine(deps.db, c.req.valid('param').id)
      c.header('ETag', etagOf(line.version))
      return c.json(viewMachine(line), 200)
    })
    .openapi(change, async (c) => {
      const asked = {
        id: c.req.valid('param').id,
        ifMatch: c.req.valid('header')['if-match'],
        runPolicy: c.req.valid('json').run_policy,
        by: c.get('actor').name,
      }
      const line = (await deps.db.begin((tx) => changePolicy(tx, asked))) as MachineLine
      nudge(deps.db)
      c.header('ETag', etagOf(line.version))
      return c.json(viewMachine(line), 200)
    })
