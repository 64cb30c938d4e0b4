import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../../../db/client.ts'
import { findRecordMarks, type RecordMark, type RecordTable } from '../../../db/queries/sync/find-records.ts'
import type { HostFacts, NetworkFacts, ProjectFacts, StorageFacts } from '../../domain/inventory/facts.ts'
import { cleanHost, cleanNetwork, cleanProject, cleanStorage } from '../../domain/inventory/normalise.ts'
import { decideNetwork } from '../../domain/inventory/record-merge.ts'
import { type StageLine, writeFacts } from './stage-line.ts'

/** Networks, hosts, storage and projects as a platform shows them. */
export type RecordItem =
  | { readonly type: 'network'; readonly facts: NetworkFacts }
  | { readonly type: 'host'; readonly facts: HostFacts }
  | { readonly type: 'storage'; readonly facts: StorageFacts }
  | { readonly type: 'project'; readonly facts: ProjectFacts }

type RecordFacts = RecordItem['facts']

const clean = (item: RecordItem): RecordFacts => {
  switch (item.type) {
    case 'network':
      return cleanNetwork(item.facts).facts
    case 'host':
      return cleanHost(item.facts).facts
    case 'storage':
      return cleanStorage(item.facts).facts
    case 'project':
      return cleanProject(item.facts).facts
  }
}

/** What becomes of each record, given what is stored. The later of two readings of a thing wins. */
export const decideRecords = async (
  db: Queryable,
  siteId: string,
  items: readonly RecordItem[],
): Promise<StageLine[]> => {
  const byTable = new Map<RecordTable, Map<string, RecordFacts>>()
  for (const item of items) {
    const facts = clean(item)
    const table = byTable.get(item.type) ?? new Map<string, RecordFacts>()
    byTable.set(item.type, table.set(facts.ref, facts))
  }
  const lines: StageLine[] = []
  for (const [table, seen] of byTable) {
    const known = await findRecordMarks(db, table, siteId, [...seen.keys()])
    const marks = new Map(known.map((mark) => [mark.ref, mark]))
    for (const facts of seen.values()) lines.push(recordLine(table, facts, marks.get(facts.ref)))
  }
  return lines
}

/** Another service of the source may provide a network's segment: a reading without it changes nothing. */
const merged = (table: RecordTable, facts: RecordFacts, mark: RecordMark | undefined): RecordFacts => {
  if (table !== 'network') return facts
  const known = mark ? { facts: mark.facts as unknown as NetworkFacts, gone: mark.gone, pending: null } : null
  return decideNetwork({ known, seen: facts as NetworkFacts, frozen: false }).facts
}

const recordLine = (table: RecordTable, seen: RecordFacts, mark: RecordMark | undefined): StageLine => {
  const facts = merged(table, seen, mark)
  const { text, hash } = writeFacts(facts)
  const line = { kind: table, ref: facts.ref, base: null, hash, name: facts.name, more: null }
  if (!mark) return { ...line, action: 'insert', recordId: uuidv7(), factsText: text }
  if (mark.gone) return { ...line, action: 'return', recordId: mark.id, factsText: text }
  if (mark.hash === hash) return { ...line, action: 'seen', recordId: mark.id, factsText: null }
  return { ...line, action: 'update', recordId: mark.id, factsText: text }
}
