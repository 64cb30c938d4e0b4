import type { Queryable, Tx } from '../../client.ts'

export interface SealingKeyRow {
  readonly id: string
  /** Sealed with the key, so that the key's holder can verify the row. */
  readonly checkValue: Buffer
}

/** The keys in use, the newest first. */
export const listSealingKeys = async (db: Queryable): Promise<SealingKeyRow[]> =>
  db<SealingKeyRow[]>`select id, check_value from sealing_key order by entered_at desc, id`

/** Until the transaction ends nobody else adds or removes a key. */
export const lockSealingKeys = async (tx: Tx): Promise<void> => {
  await tx`lock table sealing_key in share row exclusive mode`
}

export const insertSealingKey = async (db: Queryable, key: SealingKeyRow): Promise<void> => {
  await db`insert into sealing_key (id, check_value, entered_at)
    values (${key.id}, ${key.checkValue}, clock_timestamp())
    on conflict (id) do update set check_value = excluded.check_value`
}

export const deleteSealingKeysBut = async (db: Queryable, id: string): Promise<void> => {
  await db`delete from sealing_key where id <> ${id}`
}

export const deleteSealingKey = async (db: Queryable, id: string): Promise<void> => {
  await db`delete from sealing_key where id = ${id}`
}

const formerFact = 'secret-keys'

/** Where the list was before it had a table. Processes of the version before still compare their key with it. */
export const hasFormerList = async (db: Queryable): Promise<boolean> =>
  (await db`select from ledger_fact where name = ${formerFact}`).length > 0

/**
 * For the end of a rekey: the list names keys that are no longer in use. Only once the table has a key: until then
 * only this fact tells that the database has one.
 */
export const deleteFormerList = async (db: Queryable): Promise<void> => {
  await db`delete from ledger_fact where name = ${formerFact} and exists (select from sealing_key)`
}
