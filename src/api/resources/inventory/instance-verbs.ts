import { z } from '@hono/zod-openapi'
import type { Tx } from '../../../../db/client.ts'
import { findEntryOfInstance } from '../../../../db/queries/entries/entry-of-instance.ts'
import {
  findLiveInstanceJob,
  type InstanceLine,
  lockInstance,
} from '../../../../db/queries/instances/list-instances.ts'
import { findHeldOff } from '../../../../db/queries/sites/find-held-off.ts'
import { findSiteByName } from '../../../../db/queries/sites/site-rows.ts'
import { actsOnInstance, type PowerVerb, powerVerbs } from '../../../domain/job/kinds/power-instance.ts'
import { dependOn } from '../../../domain/job/token.ts'
import { isCommitted } from '../../../domain/migration/entry/entry.ts'
import { startOfInstance, startRemedy, whyStartRefused } from '../../../inventory/power/start-guard.ts'
import { type CancelOutcome, nudgeCancel } from '../../../ledger/jobs/cancel.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import { actOnEntry } from '../../../migration/entry/entry-verbs.ts'
import type { Capability } from '../../../platforms/ports/ports.ts'
import type { ApiDeps } from '../../http/env.ts'
import { once } from '../../http/idempotency.ts'
import { defineRoute, idParams, json, jsonBody, newResource } from '../../http/route.ts'
import { problem } from '../../wire/problem.ts'
import { type AcceptedView, acceptedSchema } from '../../wire/schemas.ts'
import { requireInstance } from './instance-overrides.ts'
import { enqueueOne } from './site-jobs.ts'

const tag = 'Instances'

const guestTimeLimit = {
  force: z
    .boolean()
    .default(false)
    .openapi({ description: 'Pulls the plug of a guest that does not go off in time.' }),
  timeout_seconds: z
    .int()
    .min(5)
    .max(86_400)
    .default(300)
    .openapi({ description: 'How long a guest may take to go off.' }),
}

const accepted = { 202: json(acceptedSchema, 'A job does it; `Location` is where to look') }

const guards =
  'Refused while a running batch holds the instance, when it is gone or ignored, and while its source is not connected or cannot do it at all. Nothing starts it once it was migrated, or while the same VM runs anywhere else (`vm-would-run-twice`): no force changes that.'

const power = defineRoute({
  method: 'post',
  path: '/instances/{id}/:verb{:power}',
  role: 'operator',
  tag,
  summary: 'Switch an instance on or off at its source',
  description: `\`shutdown\` asks the guest, \`stop\` pulls the plug. ${guards} But \`stop\` with \`force\` gives up a migration that has already asked for the machine's power-off, in the same transaction: the migration puts right what it left, then the machine goes off.`,
  request: {
    params: idParams,
    body: jsonBody(
      z
        .strictObject({ verb: z.enum(powerVerbs), ...guestTimeLimit })
        .openapi('PowerRequest', { example: { verb: 'shutdown', force: false } }),
    ),
  },
  responses: accepted,
})

const enable = defineRoute({
  method: 'post',
  path: '/instances/{id}/:verb{:enable-background-import}',
  role: 'operator',
  tag,
  summary: 'Have the source track the changed blocks of an instance',
  description: `May have to switch the machine off and on. \`remove_snapshots\` removes those in the way, for good. ${guards}`,
  request: {
    params: idParams,
    body: {
      required: false,
      content: {
        'application/json': {
          schema: z
            .strictObject({ remove_snapshots: z.boolean().default(false), ...guestTimeLimit })
            .openapi('TrackingRequest', { example: { remove_snapshots: false } }),
        },
      },
    },
  },
  responses: accepted,
})

const reset = defineRoute({
  method: 'post',
  path: '/instances/{id}/:verb{:reset-background-import}',
  role: 'operator',
  tag,
  summary: 'Look anew whether each disk of an instance is tracked',
  description: guards,
  request: { params: idParams },
  responses: accepted,
})

/** Why nothing may be done to the machine now: every reason, not the first. */
const requireActionable = async (
  tx: Tx,
  row: InstanceLine,
  { needs, gaveUp, starts }: Pick<StartAsk, 'needs' | 'starts'> & { readonly gaveUp: string | null },
): Promise<void> => {
  const site = await findSiteByName(tx, 'source', row.source)
  const held = gaveUp === null ? await findHeldOff(tx, row.id) : undefined
  const refused = starts ? await whyStartRefused(tx, startOfInstance(row, null)) : undefined
  // Nothing is known before the first good check; then the job itself finds out.
  const able = !site || site.capabilities.length === 0 || site.capabilities.includes(needs)
  const reasons = [
    ...(row.frozenBy === null || gaveUp !== null ? [] : [`the batch ${row.frozenBy} runs and holds it`]),
    ...(held && row.frozenBy === null ? [`the batch ${held.batch} has switched it off for its cutover`] : []),
    ...(row.goneAt === null ? [] : ['its source no longer has it']),
    ...(row.ignored === null ? [] : [`it is ignored (${row.ignored})`]),
    ...(site?.connectivity === 'ok'
      ? []
      : [`the connectivity of its source ${row.source} is ${site?.connectivity ?? 'unknown'}`]),
    ...(able ? [] : [`its source ${row.source} cannot do this (it lacks ${needs})`]),
  ]
  if (refused)
    throw problem('vm-would-run-twice', refused.message, {
      remedy: startRemedy(refused.code),
      errors: [refused.message, ...reasons].map((message) => ({ field: '', message })),
    })
  if (reasons.length > 0)
    throw problem('instance-not-actionable', `Nothing was asked of it: ${reasons.join('; ')}.`, {
      errors: reasons.map((message) => ({ field: '', message })),
    })
}

interface StartAsk {
  readonly id: string
  readonly kind: string
  readonly payload: Record<string, unknown>
  readonly needs: Capability
  /** Whether the machine is to run, or to run again, because of it. */
  readonly starts: boolean
  readonly by: string
  /** The entry that was given up for it. */
  readonly gaveUp?: string | null
}

/** Asking for the very same thing while it is under way gives that job; for another thing it is refused. */
const start = async (tx: Tx, asked: StartAsk) => {
  const gaveUp = asked.gaveUp ?? null
  const row = requireInstance(await lockInstance(tx, asked.id), asked.id)
  const live = await findLiveInstanceJob(tx, { instance: row.id, kinds: actsOnInstance })
  const isSame = live && live.kind === asked.kind && live.payload.verb === asked.payload.verb
  // What waits for a migration that was given up is found again, though that still holds the instance.
  const waits = isSame && typeof live.payload.after_entry === 'string'
  if (!waits) await requireActionable(tx, row, { ...asked, gaveUp })
  const payload = { instance: row.id, ...asked.payload, ...(gaveUp === null ? {} : { after_entry: gaveUp }) }
  if (live && !isSame)
    throw problem(
      'instance-busy',
      `${live.kind} ${live.id} (${String(live.payload.verb)}) is under way for it.`,
    )
  const job = live
    ? { id: live.id, kind: live.kind, state: live.state, existing: true }
    : await enqueueOne(tx, {
        kind: asked.kind,
        payload,
        subject: { type: 'instance', id: row.id },
        tokens: dependOn({ source: row.source, target: null }),
        createdBy: asked.by,
      })
  return {
    status: 202 as const,
    body: job as AcceptedView,
    headers: { Location: `/v1/jobs/${job.id}` },
  }
}

/**
 * A stop with force of a machine whose migration has asked for its power-off gives that migration up. Its entry is
 * locked before the instance, as the migration itself does.
 */
const giveUpMigration = async (
  tx: Tx,
  asked: { readonly id: string; readonly verb: PowerVerb; readonly force: boolean; readonly by: string },
): Promise<{ readonly gaveUp: string; readonly canceled: CancelOutcome | undefined } | undefined> => {
  if (asked.verb !== 'stop' || !asked.force) return undefined
  const entry = await findEntryOfInstance(tx, asked.id)
  if (!entry || !isCommitted(entry)) return undefined
  const { canceled } = await actOnEntry(tx, {
    id: entry.id,
    verb: 'cancel',
    force: true,
    cleanup: false,
    by: asked.by,
  })
  return { gaveUp: entry.id, canceled }
}

const powerNeeds = (verb: PowerVerb): Capability => (verb === 'shutdown' ? 'guest-shutdown' : 'power')

/** `/instances/{id}/:power`, `:enable-background-import` and `:reset-background-import`. */
export const instanceVerbs = (deps: ApiDeps) =>
  newResource()
    .openapi(power, async (c) => {
      const { id } = c.req.valid('param')
      const payload = c.req.valid('json')
      const by = c.get('actor').name
      const canceled: CancelOutcome[] = []
      const answer = await once(c, deps, async (tx) => {
        const given = await giveUpMigration(tx, { id, ...payload, by })
        if (given?.canceled) canceled.push(given.canceled)
        const needs = powerNeeds(payload.verb)
        const starts = payload.verb === 'start' || payload.verb === 'restart'
        const gaveUp = given?.gaveUp ?? null
        return start(tx, { id, kind: 'power-instance', payload, needs, starts, by, gaveUp })
      })
      for (const outcome of canceled) nudgeCancel(deps.db, outcome)
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
    .openapi(enable, async (c) => {
      const { id } = c.req.valid('param')
      const payload = { ...c.req.valid('json'), verb: 'enable' }
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) =>
        start(tx, { id, kind: 'track-instance', payload, needs: 'changed-blocks', starts: true, by }),
      )
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
    .openapi(reset, async (c) => {
      const { id } = c.req.valid('param')
      const payload = { verb: 'reset' }
      const by = c.get('actor').name
      const answer = await once(c, deps, (tx) =>
        start(tx, { id, kind: 'track-instance', payload, needs: 'changed-blocks', starts: false, by }),
      )
      nudge(deps.db)
      return c.json(answer.body, 202)
    })
