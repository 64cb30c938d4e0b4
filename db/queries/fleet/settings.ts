import type { Queryable, Tx } from '../../client.ts'

export interface SettingRow {
  readonly name: string
  readonly value: unknown
  readonly version: number
  readonly updatedBy: string
  readonly updatedAt: Date
}

/** Changed settings; all others have their default in code (src/domain/settings.ts). */
export const readSettingRows = async (db: Queryable): Promise<SettingRow[]> => db<SettingRow[]>`
  select name, value, version, updated_by, updated_at from setting order by name`

export const findSettingRow = async (db: Queryable, name: string): Promise<SettingRow | undefined> => {
  const [row] = await db<SettingRow[]>`
    select name, value, version, updated_by, updated_at from setting where name = ${name}`
  return row
}

/** Writes a value over the version that was read (0: never set). Undefined when it was changed meanwhile. */
export const writeSetting = async (
  tx: Tx,
  setting: { name: string; value: unknown; by: string; version: number },
): Promise<SettingRow | undefined> => {
  const [row] = await tx<SettingRow[]>`
    insert into setting (name, value, version, updated_by)
    select ${setting.name}, ${JSON.stringify(setting.value)}::text::jsonb, 1, ${setting.by}
    where ${setting.version} = 0 or exists (select from setting where name = ${setting.name})
    on conflict (name) do update set value = excluded.value, version = setting.version + 1,
      updated_by = excluded.updated_by, updated_at = now()
      where setting.version = ${setting.version}
    returning name, value, version, updated_by, updated_at`
  return row
}
