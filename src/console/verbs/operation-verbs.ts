import type { Hono } from 'hono'
import type { ApiEnv } from '../../api/http/env.ts'
import { requireRole } from '../../api/http/route.ts'
import { operationParams } from '../../domain/operation/kinds/params.ts'
import type { Ask } from '../kit/ask.ts'
import { type Button, buttons, requireSure } from '../kit/buttons.ts'
import { back, type Fields, fields, idOf, textOf } from '../kit/form-request.ts'
import { type ConsoleParts, sendPage } from '../kit/serve-page.ts'
import { type BulkOperations, machineBulkResultPage } from '../pages/operation/machine-bulk.ts'
import { bulkPath, bulkVariantOf, choiceBody, machineChoiceOf } from '../pages/operation/machine-choice.ts'

/** Who presses too late is told so where the button was: the page shows what has become of it. */
const cancel: Button = {
  at: '/operations/:id/cancel',
  asks: 'POST /v1/operations/{}/:cancel',
  says: 'operation-canceled',
  refusals: { 'operation-ended': 'operation-ended', 'past-return': 'past-return' },
}

/** What the buttons and forms about machines of targets and their operations do. */
export const operationVerbs = (parts: ConsoleParts): Hono<ApiEnv> => {
  const app = buttons(parts, [cancel])
  addBulkVerb(app, parts)
  addMachineVerbs(app, parts)
  return app
}

/** Kinds after which something that was there is not there any more. */
const losesSomething = (form: Fields): boolean =>
  textOf(form, 'force') === 'yes' || textOf(form, 'cold') === 'yes' || textOf(form, 'kind') === 'restore'

const addMachineVerbs = (app: Hono<ApiEnv>, parts: ConsoleParts): void => {
  app.post('/machines/:id', requireRole('operator'), async (c) => {
    const id = idOf(c)
    const form = await fields(c)
    const ask = parts.askAs(c.get('actor'))
    const act = textOf(form, 'run_policy') === '' ? operate : changePolicy
    return back(c, {}, `/machines/${id}`, await act(ask, id, form))
  })
}

const operate = async (ask: Ask, machine: string, form: Fields): Promise<string> => {
  const [kind, force] = [textOf(form, 'kind'), textOf(form, 'force') === 'yes']
  if (losesSomething(form)) requireSure(form, 'it')
  const conflict = textOf(form, 'on_conflict')
  const body = {
    machine,
    kind,
    force,
    params: paramsOf(kind, form),
    ...(conflict === '' ? {} : { on_conflict: conflict }),
  }
  await ask('POST /v1/operations', { body })
  return 'operation-asked'
}

const changePolicy = async (ask: Ask, id: string, form: Fields): Promise<string> => {
  const body = { run_policy: textOf(form, 'run_policy') }
  await ask(`PATCH /v1/machines/${id}`, { body, version: textOf(form, 'version') })
  return 'saved'
}

const ticks: ReadonlySet<string> = new Set(['memory', 'quiesce', 'cold'])

/** Of a form's fields those that the kind knows; what was left empty is left out. */
const paramsOf = (kind: string, form: Fields): Record<string, unknown> => {
  const shape = Object.hasOwn(operationParams, kind)
    ? operationParams[kind as keyof typeof operationParams].shape
    : {}
  return Object.fromEntries(
    Object.keys(shape).flatMap((name): [string, unknown][] => {
      const text = textOf(form, name)
      if (ticks.has(name)) return [[name, text === 'yes']]
      return text === '' ? [] : [[name, text]]
    }),
  )
}

/** Something for all machines that were chosen, when a person has said how many these are. */
const addBulkVerb = (app: Hono<ApiEnv>, parts: ConsoleParts): void => {
  app.post(bulkPath, requireRole('operator'), async (c) => {
    const form = await fields(c)
    const query = new URL(c.req.url).searchParams
    const { kind, force } = bulkVariantOf(query.get('kind'))
    requireSure(form, 'all of them')
    const [cursor, onConflict] = [textOf(form, 'cursor'), textOf(form, 'on_conflict') || 'supersede']
    const body = {
      ...choiceBody(machineChoiceOf(query)),
      kind,
      force,
      on_conflict: onConflict,
      confirm_count: Number(textOf(form, 'count')),
      ...(cursor === '' ? {} : { cursor }),
    }
    const answer = await parts.askAs(c.get('actor'))<BulkOperations>('POST /v1/operations/:bulk', { body })
    return await sendPage(c, await machineBulkResultPage(query, onConflict, answer)(), 200)
  })
}
