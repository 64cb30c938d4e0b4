import type { Queryable } from '../../client.ts'

/** A condition: a UUID tells a machine from others. Firmware that was given none says so in one of these ways. */
export const tellsApart = (db: Queryable, uuid: ReturnType<Queryable>) => db`
  (${uuid} <> '' and ${uuid} !~ '^(0{8}-0{4}-0{4}-0{4}-0{12}|f{8}-f{4}-f{4}-f{4}-f{12})$')`
