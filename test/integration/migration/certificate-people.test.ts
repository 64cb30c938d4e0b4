import { expect, test } from 'vitest'
import { insertAuditEvent } from '../../../db/queries/events/insert-audit-event.ts'
import type { CertificateDocument } from '../../../src/certificate/document.ts'
import { actOnEntry } from '../../../src/migration/entry/entry-verbs.ts'
import { entryOf } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const world = await createVerifyWorld(db, await createLab())

const certificateOf = async (entryId: string): Promise<CertificateDocument> => {
  const [row] = await db<{ document: CertificateDocument }[]>`
    select document from certificate where entry_id = ${entryId}::uuid`
  if (!row) throw new Error('There is no certificate.')
  return row.document
}

test('a certificate names who started the batch, who resolved its entry, and who let force through', async () => {
  const entry = await world.ready('vm-103')
  const [batch] = await db<{ name: string; createdBy: string }[]>`select name, created_by from batch`
  // Whatever it was that a person had to decide.
  await db`update entry set state = 'conflict' where id = ${entry.id}::uuid`
  await insertAuditEvent(db, {
    type: 'batch.started',
    subject: { type: 'batch', id: batch?.name ?? '' },
    actor: 'ada',
  })
  await db.begin((tx) =>
    actOnEntry(tx, { id: entry.id, by: 'grace', verb: 'resolve', force: false, cleanup: false }),
  )
  await world.setBatch({ defaults: { force_conflict_resolution: true } })
  expect(await world.verify(entry.id)).toMatchObject({ state: 'succeeded' })
  expect(await entryOf(db, entry.id)).toMatchObject({ state: 'finished' })
  const { people, by, forced } = await certificateOf(entry.id)
  expect(forced).toBe(true)
  expect(by).toMatch(/^job\//)
  expect(new Map(people?.map((one) => [one.did, one.by]))).toEqual(
    new Map([
      ['forced', batch?.createdBy],
      ['started', 'ada'],
      ['resolved', 'grace'],
    ]),
  )
})
