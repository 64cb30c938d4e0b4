import { hash } from 'node:crypto'
import { canonicalJson } from '../../domain/inventory/facts-hash.ts'
import { storableJson } from '../../storable.ts'

/** What becomes of a staged thing; `seen`: unchanged. */
export type StageAction = 'seen' | 'gone' | 'problem' | 'insert' | 'update' | 'return' | 'pend' | 'settle'

/** One row of the stage. Its facts are text already, because they were serialised for their hash. */
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

/** The most text in one statement, so that machines of the largest size cannot break it. */
const maxTextLength = 4 * 1024 * 1024

/** The JSON text of rows, in as many arrays as their size requires. The facts are clean and inserted as they are. */
export const writeLines = (lines: readonly StageLine[]): string[] => {
  const texts: string[] = []
  let rows: string[] = []
  let length = 0
  for (const line of lines) {
    const row = writeLine(line)
    if (length > 0 && length + row.length > maxTextLength) {
      texts.push(`[${rows.join(',')}]`)
      rows = []
      length = 0
    }
    rows.push(row)
    length += row.length
  }
  return rows.length > 0 ? [...texts, `[${rows.join(',')}]`] : texts
}

const writeLine = ({ factsText, recordId, ...line }: StageLine): string => {
  const head = storableJson({ ...line, record_id: recordId })
  return factsText === null ? head : `${head.slice(0, -1)},"facts":${factsText}}`
}
