import type { Db } from '../../../db/client.ts'

/** What belongs to the installation, not to a story. */
const lasting = [
  ...['access_token', 'event_floor', 'ledger_fact', 'schema_support', 'sealing_key', 'setting'],
  'signing_key',
]
/** After so many stories what was deleted is in everybody's way. */
const storiesPerVacuum = 40

/**
 * The rows with which stories begin. Reading in five sites takes as long as a short story: it is done once for each
 * beginning, and put back by one statement for all that begin so.
 */
export class Beginnings<Outside> {
  readonly #db: Db
  readonly #kept = new Map<string, { readonly inserts: readonly string[]; readonly outside: Outside }>()
  #tables: readonly string[] = []
  #stories = 0

  constructor(db: Db) {
    this.#db = db
  }

  /** Empties the database; gives what there is outside at that beginning, if it was kept and its rows are there again. */
  async putBack(key: string): Promise<Outside | undefined> {
    await this.#prepare()
    const kept = this.#kept.get(key)
    await this.#inOne([
      ...this.#tables.map((table) => `delete from public.${table}`),
      ...(kept?.inserts ?? []),
    ])
    return kept?.outside
  }

  async keep(key: string, outside: Outside): Promise<void> {
    const schema = `beginning_${this.#kept.size}`
    await this.#db.unsafe(
      [
        `create schema ${schema}`,
        ...this.#tables.map((table) => `create table ${schema}.${table} as table public.${table}`),
      ].join(';'),
    )
    this.#kept.set(key, { inserts: await this.#inserts(schema), outside })
  }

  async #prepare(): Promise<void> {
    if (this.#tables.length === 0) {
      const rows = await this.#db<{ name: string }[]>`
        select quote_ident(tablename) as name from pg_tables
        where schemaname = 'public' and tablename <> all(${lasting}::text[])`
      this.#tables = rows.map(({ name }) => name)
    }
    this.#stories += 1
    if (this.#stories % storiesPerVacuum === 0)
      await this.#db.unsafe(`vacuum ${this.#tables.map((table) => `public.${table}`).join(', ')}`)
  }

  /** One for each table that has rows. */
  async #inserts(schema: string): Promise<string[]> {
    const counted = this.#tables.map(
      (table) => `select '${table}' as name where exists (select from ${schema}.${table})`,
    )
    const full = await this.#db.unsafe<{ name: string }[]>(counted.join(' union all '))
    const rows = await this.#db<{ name: string; columns: string }[]>`
      select quote_ident(table_name) as name, string_agg(quote_ident(column_name), ', ') as columns
      from information_schema.columns
      where table_schema = 'public' and is_generated = 'NEVER'
        and quote_ident(table_name) = any(${full.map(({ name }) => name)}::text[])
      group by table_name`
    return rows.map(
      ({ name, columns }) =>
        `insert into public.${name} (${columns}) overriding system value select ${columns} from ${schema}.${name}`,
    )
  }

  /** Neither triggers nor references: these are rows that were there together before. */
  async #inOne(statements: readonly string[]): Promise<void> {
    const all = ['set local session_replication_role = replica', ...statements].join(';')
    await this.#db.begin((tx) => tx.unsafe(all))
  }
}
