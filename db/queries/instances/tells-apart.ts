import type { Queryable } from '../../client.ts'

/** A condition: a UUID identifies a machine. Firmware without one reports one of these values. */
export const tellsApart = (db: Queryable, uuid: ReturnType<Queryable>) => db`
  (${uuid} <> '' and ${uuid} !~ '^(0{8}-0{4}-0{4}-0{4}-0{12}|f{8}-f{4}-f{4}-f{4}-f{12})$')`
