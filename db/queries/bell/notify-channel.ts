import type { Queryable } from '../../client.ts'

/** Wakes whoever listens on a channel. A hint without words: what there is to do stands in the tables. */
export const notifyChannel = async (db: Queryable, channel: string): Promise<void> => {
  await db`select pg_notify(${channel}, '')`
}
