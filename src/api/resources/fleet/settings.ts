import { z } from '@hono/zod-openapi'
import { insertAuditEvent } from '../../../../db/queries/events/insert-audit-event.ts'
import {
  findSettingRow,
  readSettingRows,
  type SettingRow,
  writeSetting,
} from '../../../../db/queries/fleet/settings.ts'
import { findSetting, settings as known, type Setting } from '../../../domain/settings.ts'
import { nudge } from '../../../ledger/jobs/nudge.ts'
import type { ApiDeps } from '../../http/env.ts'
import { defineRoute, ifMatchHeaders, json, jsonBody, momentOrNull, newResource } from '../../http/route.ts'
import { etagOf, requireVersion, versionMismatch } from '../../wire/preconditions.ts'
import { fieldErrors, notFound, problem, validationProblem } from '../../wire/problem.ts'
import { timestamp } from '../../wire/schemas.ts'

const tag = 'Settings'

const settingSchema = z
  .object({
    name: z.string(),
    title: z.string(),
    unit: z.string(),
    value: z.number(),
    default: z.number(),
    version: z.int().openapi({ description: '0: never changed.' }),
    updated_by: z.string().nullable(),
    updated_at: timestamp.nullable(),
  })
  .openapi('Setting')

const params = z.object({ name: z.string().max(64) })

const list = defineRoute({
  method: 'get',
  path: '/settings',
  role: 'viewer',
  tag,
  summary: 'List settings',
  request: {},
  responses: { 200: json(z.object({ items: z.array(settingSchema) }).openapi('Settings'), 'All settings') },
})

const show = defineRoute({
  method: 'get',
  path: '/settings/{name}',
  role: 'viewer',
  tag,
  summary: 'Show a setting',
  request: { params },
  responses: { 200: json(settingSchema, 'The setting; its ETag is for If-Match') },
})

const write = defineRoute({
  method: 'put',
  path: '/settings/{name}',
  role: 'admin',
  tag,
  summary: 'Change a setting; the fleet follows within seconds',
  request: {
    params,
    headers: ifMatchHeaders,
    body: jsonBody(z.strictObject({ value: z.number() }).openapi('SettingValue', { example: { value: 30 } })),
  },
  responses: { 200: json(settingSchema, 'Changed') },
})

const required = (name: string): Setting => {
  const setting = findSetting(name)
  if (!setting) throw notFound('setting', name)
  return setting
}

const view = (setting: Setting, row: SettingRow | undefined): z.infer<typeof settingSchema> => {
  const stored = setting.schema.safeParse(row?.value)
  return {
    name: setting.name,
    title: setting.title,
    unit: setting.unit,
    value: stored.success ? stored.data : setting.default,
    default: setting.default,
    version: row?.version ?? 0,
    updated_by: row?.updatedBy ?? null,
    updated_at: momentOrNull(row?.updatedAt ?? null),
  }
}

/** The floor stands outside the database: a value below it would say what is not so. */
const refuseBelowFloor = (deps: ApiDeps, setting: Setting, value: number): void => {
  if (setting.name !== 'retention-events-days' || value >= deps.eventsKeptDaysMin) return
  const message = `Events are kept for ${deps.eventsKeptDaysMin} days at least (DROVER_EVENTS_KEPT_DAYS_MIN).`
  throw problem('validation-failed', message, {
    field: 'value',
    errors: [{ field: 'value', message }],
    remedy:
      'Set a value that is not below it; or lower it in the environment of api, conductor and migrate, and start them again.',
  })
}

export const settings = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => {
      const rows = new Map((await readSettingRows(deps.db)).map((row) => [row.name, row]))
      return c.json({ items: known.map((setting) => view(setting, rows.get(setting.name))) }, 200)
    })
    .openapi(show, async (c) => {
      const setting = required(c.req.valid('param').name)
      const shown = view(setting, await findSettingRow(deps.db, setting.name))
      c.header('ETag', etagOf(shown.version))
      return c.json(shown, 200)
    })
    .openapi(write, async (c) => {
      const setting = required(c.req.valid('param').name)
      const value = setting.schema.safeParse(c.req.valid('json').value)
      if (!value.success) throw validationProblem(fieldErrors(value.error, 'value'))
      refuseBelowFloor(deps, setting, value.data)
      const by = c.get('actor').name
      const row = (await deps.db.begin(async (tx) => {
        const before = await findSettingRow(tx, setting.name)
        const version = before?.version ?? 0
        requireVersion(c.req.valid('header')['if-match'], version)
        const written = await writeSetting(tx, { name: setting.name, value: value.data, by, version })
        if (!written) throw versionMismatch()
        await insertAuditEvent(tx, {
          type: 'setting.changed',
          subject: { type: 'setting', id: setting.name },
          actor: by,
          detail: { from: view(setting, before).value, to: value.data },
        })
        return written
      })) as SettingRow
      nudge(deps.db)
      c.header('ETag', etagOf(row.version))
      return c.json(view(setting, row), 200)
    })
