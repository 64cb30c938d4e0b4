import { z } from '@hono/zod-openapi'
import { limits } from '../../config/config.ts'
import { problem } from './problem.ts'

/** Query of every list: how many, and where the page before ended. */
export const pageQuery = z.object({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(limits.pageMax)
    .default(50)
    .openapi({ description: 'At most 200.' }),
  cursor: z
    .string()
    .max(400)
    .optional()
    .openapi({ description: '`next_cursor` of the page before; opaque, stable while rows are added.' }),
})

export const pageOf = <S extends z.ZodType>(item: S, name: string) =>
  z
    .object({
      items: z.array(item),
      next_cursor: z.string().nullable().openapi({ description: 'null on the last page.' }),
    })
    .openapi(name)

/** Where a page ended: the sort key of its last row, as text, marked with the list that it belongs to. */
export const writeCursor = (list: string, key: string): string =>
  Buffer.from(`${list} ${key}`, 'utf8').toString('base64url')

/** The sort key in a cursor. A cursor of another list, or one that was edited, is refused. */
export const readCursor = (list: string, pattern: RegExp, cursor: string | undefined): string | undefined => {
  if (cursor === undefined) return undefined
  const [of, key, ...rest] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ')
  if (
    of !== list ||
    key === undefined ||
    rest.length > 0 ||
    !pattern.test(key) ||
    writeCursor(list, key) !== cursor
  )
    throw problem('cursor-invalid', 'The cursor does not belong to this list.', {
      field: 'cursor',
      errors: [{ field: 'cursor', message: 'does not belong to this list' }],
    })
  return key
}

export const uuidKey = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** `nameSchema`, as the key of a cursor. */
export const nameKey = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/
export const eventKey = /^\d{1,5}-\d{1,20}-\d{1,19}$/

/** Cuts a list that was read one longer than asked, and says where it goes on. */
export const toPage = <Row, Item>(
  rows: readonly Row[],
  options: { list: string; limit: number; key: (row: Row) => string; item: (row: Row) => Item },
): { items: Item[]; next_cursor: string | null } => {
  const shown = rows.slice(0, options.limit)
  const last = shown.at(-1)
  return {
    items: shown.map(options.item),
    next_cursor: rows.length > options.limit && last ? writeCursor(options.list, options.key(last)) : null,
  }
}
