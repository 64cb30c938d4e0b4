import type { EventCursor } from '../../../db/queries/events/read-events-after.ts'
import { DroverError } from '../../errors.ts'

export type { EventCursor } from '../../../db/queries/events/read-events-after.ts'

const cursorText = /^(\d{1,5})-(\d{1,20})-(\d{1,16})$/
const largestEra = 32_767
const largestXid = 2n ** 64n - 1n

/** `<era>-<xid>-<id>`: an event's public id, sent as `Last-Event-ID`. */
export const formatCursor = (cursor: EventCursor): string => `${cursor.era}-${cursor.xid}-${cursor.id}`

/** Undefined when the text is no cursor, or does not fit the database's types. */
export const parseCursor = (text: string): EventCursor | undefined => {
  const [, era = '', xid = '', id = ''] = cursorText.exec(text) ?? []
  if (era === '') return undefined
  if (Number(era) > largestEra || BigInt(xid) > largestXid || Number(id) > Number.MAX_SAFE_INTEGER)
    return undefined
  return { era: Number(era), xid: String(BigInt(xid)), id: Number(id) }
}

/** For a cursor from a request: refuses an invalid one, with the field's name. */
export const requireCursor = (text: string, field: string): EventCursor => {
  const cursor = parseCursor(text)
  if (cursor) return cursor
  throw new DroverError({
    code: 'cursor-invalid',
    class: 'config',
    message: `"${text.slice(0, 60)}" is not an event cursor.`,
    remedy: 'Send the id of an event as you received it, such as 1-7042-81, or leave the cursor out.',
    field,
  })
}

/** Negative when `a` comes before `b`, zero when they are equal. */
export const compareCursors = (a: EventCursor, b: EventCursor): number => {
  if (a.era !== b.era) return a.era - b.era
  if (a.xid !== b.xid) return BigInt(a.xid) < BigInt(b.xid) ? -1 : 1
  return a.id - b.id
}
