import { DroverError } from '../../src/errors.ts'
import type { Queryable } from '../client.ts'
import { knownMigrations } from '../known-migrations.ts'
import { readMigrationsMin } from '../queries/server/schema-support.ts'

/**
 * Whether this build may work on the database. Builds of before and after a migration run side by side during an upgrade,
 * and one may go back, until a migration says that it ends here: see `schema_support`.
 */
export const checkSchema = async (db: Queryable): Promise<void> => {
  const least = await readMigrationsMin(db)
  if (least === undefined) throw schemaOutdated()
  if (least > knownMigrations.length) throw schemaNewer(least)
}

const schemaOutdated = (): DroverError =>
  new DroverError({
    code: 'schema-outdated',
    class: 'config',
    message: 'The database has the schema of an earlier version of Drover, or none.',
    remedy: "Run `drover migrate` of this version as the database's owner, then start this process again.",
    field: 'DATABASE_URL',
  })

/** A newer version has changed the database so that this one would do harm. */
export const schemaNewer = (least: number): DroverError =>
  new DroverError({
    code: 'schema-newer',
    class: 'config',
    message:
      `The database was migrated by a newer version of Drover. It asks for at least ${least} migrations, and this ` +
      `version has ${knownMigrations.length}: it would do harm here.`,
    remedy: 'Start the newer version again; or restore the backup of before the upgrade for this one.',
    field: 'DATABASE_URL',
  })
