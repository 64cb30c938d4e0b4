import { z } from 'zod'
import { nicTypes, vlanIdSchema, vlanProblem } from '../../inventory/overrides.ts'
import { nameSchema } from '../../job/kind.ts'
import { durationMs, durationSchema } from '../../text/duration.ts'

/** Every setting of a batch, under the names of the API. Stored as it is shown. */

const ownNames = (all: readonly { readonly name: string }[]): boolean =>
  new Set(all.map(({ name }) => name)).size === all.length

const expression = z.string().trim().min(1, 'must not be empty').max(4_096)

export const batchDefaults = z.strictObject({
  placement: z.strictObject({
    target: nameSchema,
    target_project: nameSchema.default('default'),
    storage_pool: nameSchema.default('default'),
  }),
  /** The network of entries of a target and project during the copy. */
  migration_network: z
    .array(
      z
        .strictObject({
          network: nameSchema,
          nictype: z.enum(nicTypes).default('managed'),
          vlan_id: vlanIdSchema.default(''),
          target: nameSchema,
          target_project: nameSchema.default('default'),
        })
        .superRefine(({ nictype, vlan_id }, context) => {
          const message = vlanProblem(nictype, vlan_id)
          if (message) context.addIssue({ code: 'custom', path: ['vlan_id'], message })
        }),
    )
    .max(100)
    .refine(
      (networks) =>
        new Set(networks.map((one) => `${one.target}/${one.target_project}`)).size === networks.length,
      'must name each target and project at most once',
    )
    .default([]),
  /** Ignore what can be ignored: see docs/migration.md. */
  force_conflict_resolution: z.boolean().default(false),
})

export const batchConfig = z
  .strictObject({
    /** Place again whenever an entry is about to be created. */
    /** Of no effect: a script without clock and chance is asked at every try and answers the same of the same record. */
    rerun_scriptlets: z.boolean().default(false),
    /** JavaScript with a function `placement(instance, batch)`; empty: the defaults. */
    placement_scriptlet: z
      .string()
      .max(64 * 1024)
      .default(''),
    post_migration_retries: z.int().min(0).max(100).default(5),
    background_sync_interval: durationSchema('1s').default('10m'),
    final_background_sync_limit: durationSchema('1s').default('10m'),
    /** How long a guest may take to shut down before its power is cut. */
    guest_shutdown_limit: durationSchema('0s').default('5m'),
    /** How long a started target may take until its agent answers. */
    boot_limit: durationSchema('1s').default('5m'),
    /** First copies at once; 0: unlimited. Never holds back an entry whose window is open. */
    sync_limit: z.int().min(0).max(100_000).default(0),
    instance_restriction_overrides: z
      .strictObject({
        allow_unknown_os: z.boolean().default(false),
        allow_no_ipv4: z.boolean().default(false),
        allow_no_background_import: z.boolean().default(false),
      })
      .prefault({}),
  })
  .refine(
    (config) => durationMs(config.final_background_sync_limit) <= durationMs(config.background_sync_interval),
    { path: ['final_background_sync_limit'], message: 'must not be longer than background_sync_interval' },
  )

export const batchConstraint = z.strictObject({
  name: nameSchema,
  description: z.string().max(2_000).default(''),
  include_expression: expression,
  /** 0: unlimited. */
  max_concurrent_instances: z.int().min(0).max(100_000).default(0),
  min_instance_boot_time: durationSchema('0s').default('0s'),
})

export const batchConstraints = z
  .array(batchConstraint)
  .max(100)
  .refine(ownNames, 'must have names of their own')
  .default([])

const instant = z.iso.datetime({ offset: true })

export const batchWindows = z
  .array(
    z.strictObject({
      name: nameSchema,
      start: instant.nullable().default(null),
      end: instant.nullable().default(null),
      lockout: instant.nullable().default(null),
      capacity: z.int().min(0).max(100_000).default(0),
    }),
  )
  .max(200)
  .default([])

/** What final-verify checks on a target in addition to its standard checks. A baseline is taken before the cutover. */
export const batchProbes = z
  .array(
    z.strictObject({
      name: nameSchema,
      /** Ports that must answer on the target; ports that were closed on the source are reported separately. */
      ports: z.array(z.int().min(1).max(65_535)).min(1).max(64),
      /** Only instances that match. */
      include_expression: expression.default('true'),
    }),
  )
  .max(50)
  .refine(ownNames, 'must have names of their own')
  .default([])

export type BatchDefaults = z.infer<typeof batchDefaults>
export type BatchConfig = z.infer<typeof batchConfig>
export type BatchConstraint = z.infer<typeof batchConstraint>
export type BatchProbe = z.infer<typeof batchProbes>[number]

/** The admission token of a batch's first copies: its limit is `sync_limit`. */
export const firstCopyToken = (batch: string): string => `batch/${batch}`
