import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import {
  readTemplate,
  type TemplateLine,
  type VersionLine,
} from '../../../../db/queries/templates/list-templates.ts'
import { shownReason } from '../../../domain/template/shown.ts'
import { templateStates } from '../../../domain/template/state.ts'
import { versionCauses, versionStates } from '../../../domain/template/version.ts'
import { notFound } from '../../wire/problem.ts'
import { anything, jobStateSchema, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'
import { errorSchema } from '../jobs/job-view.ts'

export const templateSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    target: z.string(),
    folder: z.string(),
    production: z
      .string()
      .openapi({ description: 'The name on the platform that machines are cloned from.' }),
    state: z.enum(templateStates),
    reason: z.string(),
    message: z.string(),
    error: errorSchema.nullable(),
    image: z.string().openapi({ description: 'The image that is wanted.' }),
    image_id: z.uuid(),
    image_live: z.string().nullable().openapi({ description: 'The image that the name points at.' }),
    version_live: z.int().nullable(),
    version_wanted: z.int(),
    keep_versions: z.int(),
    grace_seconds: z.int(),
    allow_downgrade: z.boolean(),
    project: z.string(),
    pool: z.string(),
    host: z.string(),
    network: z.string(),
    job_id: z.uuid().nullable(),
    job_state: jobStateSchema.nullable(),
    progress: anything.nullable().openapi({ description: 'Of the swap that is under way.' }),
    version: z.int().openapi({ description: 'Of the ETag: grows with every change of a person.' }),
    created_by: z.string(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .openapi('Template')

export type TemplateView = z.infer<typeof templateSchema>

export const viewTemplate = (line: TemplateLine): TemplateView =>
  toWire(templateSchema, line, {
    ...shownReason(line),
    error: line.error ?? (line.state === 'swapping' ? line.jobError : null),
    job_state: line.jobState as TemplateView['job_state'],
    progress: line.jobState === 'running' ? line.jobProgress : null,
  })

export const showTemplate = async (db: Queryable, name: string): Promise<TemplateView> => {
  const line = await readTemplate(db, name)
  if (!line) throw notFound('template', name)
  return viewTemplate(line)
}

export const versionSchema = z
  .object({
    number: z.int(),
    image: z.string(),
    image_id: z.uuid(),
    image_version: z.string().nullable().openapi({ description: 'Of the product in it.' }),
    digest: z.string().nullable(),
    state: z.enum(versionStates),
    cause: z.enum(versionCauses),
    by: z.string(),
    asked_at: timestamp,
    live_at: timestamp.nullable(),
    retired_at: timestamp.nullable(),
    swap_ms: z.int().nullable(),
    gap_ms: z.int().nullable().openapi({ description: 'For how long the name pointed at nothing.' }),
    error: errorSchema.nullable().openapi({ description: 'Why it was withdrawn, when its swap had failed.' }),
  })
  .openapi('TemplateVersion')

export type VersionView = z.infer<typeof versionSchema>

export const viewVersion = (line: VersionLine) => toWire(versionSchema, line)
