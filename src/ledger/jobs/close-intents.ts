import type { Tx } from '../../../db/client.ts'
import {
  closeIntentRows,
  type IntentRow,
  lockForgottenIntents,
  lockIntents,
} from '../../../db/queries/effects/close-intents.ts'
import { closeIntent } from '../../domain/job/ends.ts'

const close = async (tx: Tx, intents: readonly IntentRow[], actor: string): Promise<number> => {
  if (intents.length === 0) return 0
  const closed = intents.map((intent) => ({ id: intent.id, ...closeIntent(intent) }))
  await closeIntentRows(tx, closed, actor)
  return intents.length
}

/**
 * Closes the open intents of jobs that end in this transaction: an intent that provably came to nothing is undone; any
 * other may exist and becomes a debt.
 */
export const closeIntents = async (tx: Tx, jobIds: readonly string[], actor: string): Promise<number> =>
  close(tx, await lockIntents(tx, jobIds), actor)

/** The same for jobs that ended without it. */
export const closeForgottenIntents = async (tx: Tx, limit: number, actor: string): Promise<number> =>
  close(tx, await lockForgottenIntents(tx, limit), actor)
