import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../../db/client.ts'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import {
  deleteWarnings,
  lockWarnings,
  readNow,
  type WarningPlace,
  writeWarning,
} from '../../../db/queries/sites/merge-warnings.ts'
import { storableJson, storableLine } from '../../storable.ts'

/** Every type of warning, with its title. */
export const warningTypes = {
  'running-twice': 'A VM runs twice',
  'guest-may-go-off': 'A guest that was asked to shut down may still do so',
  'left-off': 'A VM that ran at its cutover was left off',
  'connection-failed': 'It cannot be reached',
  'sync-failed': 'Its inventory could not be read',
  'suddenly-empty': 'It shows nothing any more',
  'instances-not-read': 'Instances could not be read',
  'instances-ignored': 'Instances were ignored',
  'facts-cut': 'Facts were left out',
  'things-not-read': 'Networks, hosts or storage could not be read',
  'older-keeps-on': 'An operation that has ended is still active at its machine',
  'policy-fails': 'Its run policy cannot be kept',
} as const

export type WarningType = keyof typeof warningTypes

/** Sentences by type; a type without sentences has no warning. */
export type Said = Partial<Record<WarningType, readonly string[]>>

const maxMessages = 50

/** Bounded: the last sentence says how many are left out. */
export const boundedTexts = (texts: readonly string[], total = texts.length): string[] => {
  const kept = [...new Set(texts)].slice(0, maxMessages).map((text) => storableLine(text))
  const more = total - kept.length
  return more > 0 ? [...kept, `And ${more} more.`] : kept
}

interface Message {
  readonly text: string
  readonly first_seen_at: string
  readonly last_seen_at: string
}

/**
 * Replaces the warnings of a subject: a sentence that stays keeps its first time, a sentence that is missing is
 * removed, and a warning without sentences is removed too. Only `types` are changed.
 */
export const mergeWarnings = async (
  tx: Tx,
  place: WarningPlace,
  options: { readonly types: readonly WarningType[]; readonly said: Said; readonly actor: string },
): Promise<void> => {
  const { types, said, actor } = options
  const known = new Map((await lockWarnings(tx, place, types)).map((row) => [row.type, row]))
  const now = await readNow(tx)
  const over = [...known.values()].filter((row) => (said[row.type as WarningType] ?? []).length === 0)
  await deleteWarnings(
    tx,
    over.map((row) => row.id),
  )
  const subject = { type: place.entityType, id: place.entityId }
  for (const row of over)
    await insertAuditEvent(tx, { type: 'warning.cleared', subject, actor, detail: { type: row.type } })
  for (const type of types) {
    const texts = said[type] ?? []
    if (texts.length === 0) continue
    const before = known.get(type)
    const earlier = new Map((before?.messages ?? []).map((message) => [message.text, message.first_seen_at]))
    const messages: Message[] = texts.map((text) => ({
      text,
      first_seen_at: earlier.get(text) ?? now,
      last_seen_at: now,
    }))
    const isNews = texts.some((text) => !earlier.has(text))
    await writeWarning(tx, place, { id: uuidv7(), type, messages: storableJson(messages), isNews })
    if (isNews)
      await insertAuditEvent(tx, {
        type: 'warning.raised',
        subject,
        actor,
        reason: texts[0] ?? '',
        detail: { type, messages: texts.length },
      })
  }
}
