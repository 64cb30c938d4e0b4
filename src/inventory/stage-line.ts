import { hash } from 'node:crypto'
import { canonicalJson } from '../domain/inventory/facts-hash.ts'
import { storableJson } from '../storable.ts'

/** What a staged thing becomes; `seen`: it is as it is recorded. */
export type StageAction = 'seen' | 'gone' | 'problem' | 'insert' | 'update' | 'return' | 'pend' | 'settle'

/** One row of the stage, its facts as text already: they were written once for their hash. */
export interface StageLine {
  readonly kind: string
  readonly ref: string
  readonly action: StageAction
  readonly recordId: string | null
  readonly base: string | null
  readonly hash: string | null
  readonly name: string
  readonly factsText: string | null
  readonly more: Readonly<Record<string, unknown>> | null
}

/** Facts as text and the hash of that text: equal for equal facts. */
export const writeFacts = (facts: object): { readonly text: string; readonly hash: string } => {
  const text = canonicalJson(facts)
  return { text, hash: hash('sha256', text, 'base64url') }
}

/** The JSON text of rows. Facts go in as they are; they are clean. */
export const writeLines = (lines: readonly StageLine[]): string => {
  const rows = lines.map((line) => {
    const head = storableJson({
      kind: line.kind,
      ref: line.ref,
      action: line.action,
      record_id: line.recordId,
      base: line.base,
      hash: line.hash,
      name: line.name,
      more: line.more,
    })
    return line.factsText === null ? head : `${head.slice(0, -1)},"facts":${line.factsText}}`
  })
  return `[${rows.join(',')}]`
}
