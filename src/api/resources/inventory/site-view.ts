import { z } from '@hono/zod-openapi'
import type { Queryable } from '../../../../db/client.ts'
import { findFinishedOf } from '../../../../db/queries/entries/finished-entries.ts'
import { countForgotten } from '../../../../db/queries/sites/delete-site-inventory.ts'
import { countSite, type SiteLine } from '../../../../db/queries/sites/site-rows.ts'
import {
  type ConnectivityState,
  connectivityMeanings,
  connectivityStates,
} from '../../../domain/inventory/connectivity.ts'
import { readSettings, type SiteRole, settingsSchemaOf } from '../../../domain/inventory/site-settings.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import { platformKinds } from '../../../platforms/ports/connection.ts'
import { refuseCa, refuseEndpoint, tidyEndpoint, tidyFingerprint } from '../../access/site-credentials.ts'
import { moment } from '../../http/route.ts'
import { anything, timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'
import { downListSchema, readDown } from '../fleet/down-view.ts'

/** A text that `refuse` finds nothing wrong with. */
const checked = (most: number, refuse: (text: string) => string | undefined) =>
  z
    .string()
    .max(most)
    .check((check) => {
      const message = refuse(check.value)
      if (message !== undefined) check.issues.push({ code: 'custom', message, input: check.value })
    })

const endpointSchema = checked(1_000, refuseEndpoint)
  .transform(tidyEndpoint)
  .openapi({ type: 'string', format: 'uri', example: 'https://vcenter.example.org/sdk' })

const usernameSchema = z
  .string()
  .min(1, 'must not be empty')
  .max(256)
  .regex(/^\P{Cc}*$/u, 'must not hold control characters')

const passwordSchema = z
  .string()
  .min(1, 'must not be empty')
  .max(1_024)
  .openapi({ format: 'password', description: 'Stored sealed, and never shown again.' })

export const caSchema = checked(64 * 1024, refuseCa).openapi({
  type: 'string',
  description: "Certificates (PEM) to trust instead of the system's; empty: the system's.",
})

export const fingerprintSchema = checked(200, (text) =>
  tidyFingerprint(text) === undefined ? 'must be a SHA-256 fingerprint: 64 hexadecimal digits' : undefined,
)
  .transform((text) => tidyFingerprint(text) ?? '')
  .openapi({ type: 'string', description: "SHA-256 of the server's certificate; pins it." })

/** Settings differ by role; to the code here they are an object that was checked. */
const settingsOf = (role: SiteRole) =>
  settingsSchemaOf(role) as unknown as z.ZodType<Record<string, unknown>> & z.ZodObject

const titleOf = (role: SiteRole) => (role === 'source' ? 'Source' : 'Target')

const exampleOf = (role: SiteRole) => ({
  name: role === 'source' ? 'paris' : 'lyon',
  kind: 'vsphere',
  endpoint: 'https://vcenter.example.org/sdk',
  username: 'drover@vsphere.local',
  password: 'correct horse battery staple',
  settings: { import_limit: 8 },
})

export const newSiteSchema = (role: SiteRole) =>
  z
    .strictObject({
      name: nameSchema.meta({ description: 'For ever: jobs, events and limits go by it.' }),
      kind: z.enum(platformKinds).openapi({ description: 'For ever.' }),
      endpoint: endpointSchema,
      username: usernameSchema,
      password: passwordSchema,
      ca: caSchema.default(''),
      fingerprint: fingerprintSchema.default(''),
      settings: settingsOf(role).prefault({}),
    })
    .openapi(`New${titleOf(role)}`, { example: exampleOf(role) })

export const siteChangeSchema = (role: SiteRole) =>
  z
    .strictObject({
      endpoint: endpointSchema.optional(),
      username: usernameSchema.optional(),
      password: passwordSchema.optional(),
      ca: caSchema.optional(),
      fingerprint: fingerprintSchema.optional(),
      settings: z
        .record(z.string().max(64), z.unknown())
        .optional()
        .openapi({ description: 'Only what is given changes.' }),
    })
    .refine((change) => Object.keys(change).length > 0, 'must change something')
    .openapi(`${titleOf(role)}Change`, { example: { settings: { import_limit: 4 } } })

const certificateSchema = z.record(z.string(), z.string())

const errorSchema = z.object({ code: z.string(), message: z.string(), remedy: z.string() })

const connectivitySchema = z
  .object({
    state: z.enum(connectivityStates),
    since: timestamp,
    code: z.string().nullable(),
    message: z.string().nullable(),
    remedy: z.string().nullable(),
    checked_at: timestamp.nullable(),
    next_check_at: timestamp,
    seen_certificate: certificateSchema
      .nullable()
      .openapi({ description: 'What answered and waits for `:confirm-fingerprint`.' }),
  })
  .openapi('Connectivity')

const syncSchema = z
  .object({
    job_id: z.uuid().nullable().openapi({ description: 'The job that syncs now.' }),
    synced_at: timestamp.nullable(),
    full_synced_at: timestamp.nullable(),
    next_at: timestamp.nullable().openapi({ description: 'null: only by hand.' }),
    error: errorSchema.nullable(),
    result: anything.nullable().openapi({ description: 'What the last sync saw and changed.' }),
  })
  .openapi('SyncState')

const siteShape = (role: SiteRole) => ({
  id: z.uuid(),
  name: z.string(),
  kind: z.enum(platformKinds),
  endpoint: z.string(),
  username: z.string(),
  has_password: z.boolean(),
  ca: z.string(),
  fingerprint: z.string(),
  settings: settingsOf(role),
  connectivity: connectivitySchema,
  identity: certificateSchema
    .nullable()
    .openapi({ description: 'Who answered: product, version, instance.' }),
  capabilities: z.array(z.string()),
  syncing: z.boolean(),
  sync: syncSchema,
  revision: z.int().openapi({ description: 'Goes up with every sync that changed something.' }),
  version: z.int(),
  created_by: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
})

const countsSchema = z
  .object({
    instances: z.int(),
    ready: z.int(),
    warning: z.int(),
    blocked: z.int(),
    migrated: z.int().openapi({ description: 'Beside these: a verified copy has taken their place.' }),
    ignored: z.int(),
    frozen: z.int(),
    networks: z.int(),
    hosts: z.int(),
    storage: z.int(),
    projects: z.int(),
  })
  .openapi('SiteCounts')

const forgetsSchema = z
  .object({
    finished: z.int().openapi({ description: 'Finished migrations: to be confirmed.' }),
    machines: z.int(),
    overrides: z.int(),
    mappings: z.int(),
    waivers: z.int(),
  })
  .openapi('SiteForgets')

export const siteSchema = (role: SiteRole) => z.object(siteShape(role)).openapi(titleOf(role))
export const siteDetailSchema = (role: SiteRole) =>
  z
    .object({
      ...siteShape(role),
      counts: countsSchema,
      forgets: forgetsSchema.openapi({ description: 'What goes when it is removed.' }),
      down: downListSchema.openapi({ description: 'Whose migration from or to it keeps them off.' }),
    })
    .openapi(`${titleOf(role)}Detail`)

export type SiteView = z.infer<ReturnType<typeof siteSchema>>
export type SiteDetail = z.infer<ReturnType<typeof siteDetailSchema>>

/** What the last try said; before there was one, what the state means. */
export const explainConnectivity = (
  site: Pick<SiteLine, 'connectivity' | 'connectivityError'>,
): { message: string | null; remedy: string | null } => {
  const { connectivity, connectivityError: error } = site
  if (error) return { message: error.message, remedy: error.remedy }
  if (connectivity === 'ok') return { message: null, remedy: null }
  const { sentence, remedy } = connectivityMeanings[connectivity as ConnectivityState]
  return { message: sentence, remedy }
}

export const viewSite = (site: SiteLine): SiteView => {
  const role = site.role as SiteRole
  const settings = readSettings(role, site.settings)
  return toWire(siteSchema(role), site, {
    kind: site.kind as SiteView['kind'],
    settings,
    connectivity: toWire(connectivitySchema, site, {
      state: site.connectivity as ConnectivityState,
      since: moment(site.connectivitySince),
      code: site.connectivityError?.code ?? null,
      ...explainConnectivity(site),
    }),
    sync: toWire(syncSchema, site, {
      job_id: site.syncing ? site.syncJobId : null,
      next_at: settings.sync_interval_seconds === 0 ? null : moment(site.nextSyncAt),
      error: site.syncError && toWire(errorSchema, site.syncError),
      result: site.syncResult,
    }),
  })
}

export const readSiteDetail = async (db: Queryable, site: SiteLine): Promise<SiteDetail> => {
  const [counts, forgotten, finished, down] = await Promise.all([
    countSite(db, site.id),
    countForgotten(db, site.id),
    findFinishedOf(db, { ...site, role: site.role as SiteRole }),
    readDown(db, { site }),
  ])
  const forgets = { finished: finished.count, ...forgotten }
  return { ...viewSite(site), counts: { ...counts }, forgets, down }
}
