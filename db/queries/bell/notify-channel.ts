import type { Queryable } from '../../client.ts'

/** Wakes the listeners of a channel. A hint without content: the tables say what there is to do. */
export const notifyChannel = async (db: Queryable, channel: string): Promise<void> => {
  await db`select pg_notify(${channel}, '')`
}
