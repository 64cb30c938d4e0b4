import { customType, timestamp } from 'drizzle-orm/pg-core'

/** A transaction id that never wraps: what puts events in commit order. */
export const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' })

/** Which transactions a statement could see. */
export const snapshot = customType<{ data: string }>({ dataType: () => 'pg_snapshot' })

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

/**
 * A moment. Every one in the ledger is read from the database's clock, never from a process's; but for what is signed about
 * events, which must not depend on what the database says.
 */
export const moment = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 3 })
