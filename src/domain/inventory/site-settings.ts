import { z } from 'zod'

export const siteRoles = ['source', 'target'] as const
export type SiteRole = (typeof siteRoles)[number]

const limit = (least: number, most: number, usual: number) => z.int().min(least).max(most).default(usual)
const daySeconds = 86_400

/** An inventory path or the name of a data centre. */
const scope = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(500)
  .regex(/^[^\p{Cc}]*$/u, 'must not hold control characters')

/** Settings of both roles. Names and units are the API's: stored as they are shown. */
const shared = {
  connection_timeout_seconds: limit(1, 600, 30),
  /** Per VM: a slower VM becomes a problem of its own. */
  sync_timeout_seconds: limit(1, 600, 10),
  /** 0: only by hand. */
  sync_interval_seconds: limit(0, 30 * daySeconds, 600),
  check_interval_seconds: limit(10, daySeconds, 300),
  /** Where to look; empty: everywhere. */
  scopes: z.array(scope).max(100).default([]),
}

export const sourceSettings = z.strictObject({
  /** Disks read at once from it; 0: unlimited. */
  import_limit: limit(0, 100_000, 0),
  /** Single VMs asked for at once during a sync. */
  sync_limit: limit(1, 64, 8),
  ...shared,
})

export const targetSettings = z.strictObject({
  import_limit: limit(0, 100_000, 0),
  /** Machines made at once; 0: unlimited. */
  create_limit: limit(0, 100_000, 10),
  ...shared,
})

const schemas = { source: sourceSettings, target: targetSettings } as const

export const settingsSchemaOf = (role: SiteRole): (typeof schemas)[SiteRole] => schemas[role]

/** Stored settings, with current defaults for newer fields. */
export const readSettings = <Role extends SiteRole>(
  role: Role,
  stored: unknown,
): z.infer<(typeof schemas)[Role]> => schemas[role].parse(stored) as z.infer<(typeof schemas)[Role]>

/** Stands for "unlimited" where a limit needs a number: more than any fleet requests. */
export const unlimitedCapacity = 100_000

const capacityOf = (setting: number): number => (setting === 0 ? unlimitedCapacity : setting)

/** The admission limits that follow from a site's settings, saved with the site in one transaction. */
export const siteLimits = (site: {
  readonly role: SiteRole
  readonly name: string
  readonly settings: unknown
}): readonly { readonly token: string; readonly capacity: number }[] => {
  if (site.role === 'source') {
    const { import_limit: imports } = readSettings('source', site.settings)
    return [{ token: `source-imports/${site.name}`, capacity: capacityOf(imports) }]
  }
  const { import_limit: imports, create_limit: creates } = readSettings('target', site.settings)
  return [
    { token: `target-imports/${site.name}`, capacity: capacityOf(imports) },
    { token: `target-creates/${site.name}`, capacity: capacityOf(creates) },
  ]
}

/** The token that keeps two syncs of one site apart. */
export const syncToken = (role: SiteRole, name: string): string => `site-sync/${role}.${name}`
