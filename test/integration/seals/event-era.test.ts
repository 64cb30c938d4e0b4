import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { headCursor, readEventsAfter } from '../../../db/queries/events/read-events-after.ts'
import { startNewEraIfRestored } from '../../../db/queries/seals/start-new-era-if-restored.ts'
import { sealEvents } from '../../../src/ledger/seals/seal-events.ts'
import { verifySeals } from '../../../src/ledger/seals/verify-seals.ts'
import { readAll, reasons, testSealer as sealer, untilReadable, writeEvents } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const migrateAgain = async (url: string): Promise<void> => {
  const connection = postgres(url, { max: 1, onnotice: () => {} })
  try {
    await startNewEraIfRestored(connection)
  } finally {
    await connection.end({ timeout: 5 })
  }
}

const sealAll = async (db: Db): Promise<void> => {
  for (;;) if ((await sealEvents({ db, sealer, eventsMax: 2 })) === 'nothing') return
}

/** Events as another cluster wrote them: far ahead of this one's transaction ids. */
const writeForeign = async (db: Db, reason: string, xid: string): Promise<void> => {
  await db`insert into event (xid, type, subject_type, subject_id, actor, reason)
    values (${xid}::xid8, 'thing.changed', 'thing', 'one', 'test', ${reason})`
}

describe('a ledger that was restored into another cluster', () => {
  test('goes on in a new era: readers, cursors and seals miss nothing', async () => {
    const { db, url } = await createDatabase()
    await writeEvents(db, [{ reason: 'sealed' }])
    await untilReadable(db)
    await sealAll(db)
    const between = (await readEventsAfter(db, 'start', { limit: 10 })).next
    await writeForeign(db, 'foreign 1', '900000000000')
    await writeForeign(db, 'foreign 2', '900000000001')
    await db`update ledger_fact set value = '1' where name = 'cluster'`
    await migrateAgain(url)
    await writeEvents(db, [{ reason: 'new' }])
    await until(async () => (await readAll(db)).length === 4, { what: 'the new event to be readable' })
    expect(reasons(await readAll(db))).toEqual(['sealed', 'foreign 1', 'foreign 2', 'new'])
    expect(reasons((await readEventsAfter(db, between, { limit: 10 })).events)).toEqual([
      'foreign 1',
      'foreign 2',
      'new',
    ])
    expect((await headCursor(db)).era).toBe(2)
    await sealAll(db)
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, events: 4 })
    await writeForeign(db, 'later', '1')
    await db`update event set era = 1 where reason = 'later'`
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
  })

  test('begins its era behind those of seals whose events are gone', async () => {
    const { db, url } = await createDatabase()
    await db`insert into event_seal (seq, era, from_xid, to_xid, events, previous_hash, hash, mac)
      values (1, 7, '0', '10', 1, '', '', '')`
    await db`update ledger_fact set value = '1' where name = 'cluster'`
    await migrateAgain(url)
    expect((await headCursor(db)).era).toBe(8)
  })

  test('is noticed by its events, when only the data was loaded', async () => {
    const { db, url } = await createDatabase()
    await writeForeign(db, 'foreign', '900000000000')
    await migrateAgain(url)
    expect((await headCursor(db)).era).toBe(2)
    await writeEvents(db, [{ reason: 'new' }])
    const [written] = await db`select era from event where reason = 'new'`
    expect(written?.era).toBe(2)
  })

  test('is noticed once; a ledger that stays where it is keeps its era', async () => {
    const { db, url } = await createDatabase()
    await writeEvents(db, [{ reason: 'here' }])
    await migrateAgain(url)
    expect((await headCursor(db)).era).toBe(1)
    await db`update ledger_fact set value = '1' where name = 'cluster'`
    await migrateAgain(url)
    await writeEvents(db, [{ reason: 'there' }])
    await migrateAgain(url)
    expect((await headCursor(db)).era).toBe(2)
  })
})
