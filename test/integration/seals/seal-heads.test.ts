import { generateKeyPairSync } from 'node:crypto'
import { mkdir, readFile, rename, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { readEventsAfter } from '../../../db/queries/events/read-events-after.ts'
import { findLatestHead } from '../../../db/queries/seals/find-latest-head.ts'
import { installationKey } from '../../../src/certificate/installation-key.ts'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { handOutHead } from '../../../src/ledger/seals/hand-out-heads.ts'
import { appendHead, lastHeadOf } from '../../../src/ledger/seals/heads-file.ts'
import { type HeadsMemory, lostHeadWords } from '../../../src/ledger/seals/lost-head.ts'
import { verifySeals } from '../../../src/ledger/seals/verify-seals.ts'
import { createLog, type Logger } from '../../../src/process/log.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { isHeadSignedBy, parseHead, publicHalf } from '../../../src/seal/seal-head.ts'
import { quietLog, sealAll, testSealer, untilReadable, writeEvents } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { tempDir } from '../../support/temp.ts'

const hourMs = 3_600_000

/** A conductor whose clock the test turns; `again` is one that has just started. */
const conductorOver = (db: Db, options: { file?: string; log?: Logger } = {}) => {
  let nowMs = Date.now()
  const clock: Clock = { ...systemClock, now: () => nowMs }
  let memory: HeadsMemory = {}
  const signingKey = (tx: Parameters<typeof installationKey>[0]) => installationKey(tx, testSealer)
  return {
    turn: (ms: number) => {
      nowMs += ms
    },
    again: () => {
      memory = {}
    },
    words: () => lostHeadWords(memory, options),
    handOut: (sealer = testSealer) =>
      handOutHead({ db, sealer, signingKey, clock, log: quietLog, by: 'test', ...options }, memory),
  }
}

const sealOne = async (db: Db, reason: string): Promise<void> => {
  await writeEvents(db, [{ reason }])
  await sealAll(db)
}

test('a head is handed out once an interval: signed, as an event, and as a line of a file for its owner alone', async () => {
  const { db } = await createDatabase()
  const file = join(await tempDir('heads'), 'heads')
  const conductor = conductorOver(db, { file })
  expect(await conductor.handOut()).toBeUndefined()
  await sealOne(db, 'one')
  const first = await conductor.handOut()
  expect(first).toMatchObject({ seq: 1 })
  expect(await conductor.handOut()).toBeUndefined()
  await sealAll(db)
  conductor.turn(hourMs - 1)
  expect(await conductor.handOut()).toBeUndefined()
  conductor.turn(1)
  const second = await conductor.handOut()
  expect(second?.seq).toBeGreaterThan(1)
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  expect(lines).toEqual([first?.line, second?.line])
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await findLatestHead(db)).toBe(second?.line)
  await untilReadable(db)
  const { events } = await readEventsAfter(db, 'start', { types: ['events.head'], limit: 10 })
  expect(events.map((event) => event.detail?.head)).toEqual(lines)
})

test('the newest head is the one that was handed out last, whichever connection drew the higher event id', async () => {
  const { db } = await createDatabase()
  const conductor = conductorOver(db)
  await sealOne(db, 'one')
  await conductor.handOut()
  // Each connection takes a hundred ids ahead: an event of another connection may be older and have the higher one.
  await db`create table drawn as select * from event where type = 'events.head'`
  await db`update drawn set id = id + 1000`
  await db`delete from event where type = 'events.head'`
  await db`insert into event overriding system value select * from drawn`
  conductor.turn(hourMs)
  await sealAll(db)
  const second = await conductor.handOut()
  expect(second?.seq).toBeGreaterThan(1)
  expect(await findLatestHead(db)).toBe(second?.line)
})

test('the interval is a setting, and outlives the process', async () => {
  const { db } = await createDatabase()
  await db`insert into setting (name, value, updated_by) values ('seal-head-minutes', '5', 'test')`
  const conductor = conductorOver(db)
  await sealOne(db, 'one')
  await conductor.handOut()
  await sealAll(db)
  conductor.again()
  expect(await conductor.handOut()).toBeUndefined()
  conductor.turn(5 * 60_000)
  expect(await conductor.handOut()).toBeDefined()
})

test('anybody with the public key can check a head, and no other text or key passes', async () => {
  const { db } = await createDatabase()
  await sealOne(db, 'one')
  const head = await conductorOver(db).handOut()
  if (!head) throw new Error('No head was handed out.')
  const pair = (await db.begin((tx) => installationKey(tx, testSealer))) as { privateKey: Buffer }
  const key = publicHalf(pair.privateKey)
  expect(isHeadSignedBy(head, key)).toBe(true)
  const altered = parseHead(head.line.replace(':1:', ':2:'))
  expect(altered?.seq).toBe(2)
  expect(altered && isHeadSignedBy(altered, key)).toBe(false)
  expect(isHeadSignedBy(head, generateKeyPairSync('ed25519').publicKey)).toBe(false)
  expect(await verifySeals(db, testSealer, { head })).toMatchObject({ ok: true })
})

// promise: hidden-history
test('no head is signed for a chain that was cut off or replaced, also by a conductor that has just started with its file', async () => {
  const { db } = await createDatabase()
  const file = join(await tempDir('heads'), 'heads')
  const conductor = conductorOver(db, { file })
  await sealOne(db, 'one')
  await sealOne(db, 'two')
  await conductor.handOut()
  await db`truncate event, event_seal`
  for (const reason of ['other one', 'other two', 'other three']) await sealOne(db, reason)
  conductor.turn(hourMs)
  expect(await conductor.handOut()).toBeUndefined()
  conductor.again()
  expect(await conductor.handOut()).toBeUndefined()
})

test('after a restore the log and the readiness say what to do, and then heads are handed out again', async () => {
  const { db } = await createDatabase()
  const file = join(await tempDir('heads'), 'heads')
  const said: string[] = []
  const log = createLog({
    role: 'test',
    level: 'error',
    destination: { write: (line) => void said.push(line) },
  })
  const conductor = conductorOver(db, { file, log })
  for (const reason of ['one', 'two', 'three']) await sealOne(db, reason)
  const before = await conductor.handOut()
  expect(conductor.words()).toBeUndefined()
  // What a dump of before brings back: fewer seals than were handed out, and the events that follow.
  await db`delete from event where xid >= (select from_xid from event_seal where seq = 2)`
  await db`delete from event_seal where seq >= 2`
  await sealOne(db, 'after the restore')
  conductor.turn(hourMs)
  expect(await conductor.handOut()).toBeUndefined()
  const words = conductor.words()
  expect(words?.message).toContain(`does not hold head ${before?.seq},`)
  expect(words?.message).toContain('the database was restored, or')
  expect(words?.remedy).toMatch(
    /move the file that DROVER_SEAL_HEADS_FILE names aside .* start every conductor/,
  )
  expect(`${words?.message} ${words?.remedy}`).not.toContain(file)
  expect(said.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ known: before?.line, msg: words?.message, remedy: words?.remedy }),
  ])

  await rename(file, `${file}.before-restore`)
  conductor.again()
  await sealOne(db, 'and again')
  expect(await conductor.handOut()).toBeDefined()
  expect(conductor.words()).toBeUndefined()
})

test('no head is signed for a seal that was made without the key', async () => {
  const { db } = await createDatabase()
  await writeEvents(db, [{ reason: 'one' }])
  await sealAll(db, { sealer: createSealer('66'.repeat(32)) })
  expect(await conductorOver(db).handOut()).toBeUndefined()
})

test('a made-up event that claims a head of tomorrow does not keep the true one back', async () => {
  const { db } = await createDatabase()
  await sealOne(db, 'one')
  const conductor = conductorOver(db)
  const head = await conductor.handOut()
  const tomorrow = head?.line.replace(/:\d{13}:/, `:${Date.now() + 24 * hourMs}:`) ?? ''
  expect(parseHead(tomorrow)).toBeDefined()
  await db`update event set detail = jsonb_build_object('head', ${tomorrow}::text) where type = 'events.head'`
  await sealAll(db)
  conductor.again()
  expect(await conductor.handOut()).toMatchObject({ seq: 2 })
})

test('made-up events of heads of just now do not keep the true one back, whoever adds them', async () => {
  const { db } = await createDatabase()
  await sealOne(db, 'one')
  const conductor = conductorOver(db)
  const head = await conductor.handOut()
  if (!head) throw new Error('No head was handed out.')
  await sealAll(db)
  conductor.turn(hourMs)
  const forged = head.line.replace(/:\d{13}:/, `:${head.atMs + hourMs - 1}:`)
  expect(parseHead(forged)).toMatchObject({ atMs: head.atMs + hourMs - 1 })
  await db`insert into event (type, subject_type, subject_id, actor, detail)
    values ('events.head', 'event-chain', 'head', 'worker', jsonb_build_object('head', ${forged}::text))`
  conductor.again()
  expect(await conductor.handOut()).toMatchObject({ seq: 2 })
})

test('the file of heads is bounded, goes on behind what it holds, and follows no link', async () => {
  const dir = await tempDir('heads')
  const file = join(dir, 'heads')
  expect(await lastHeadOf(file)).toBeUndefined()
  await writeFile(file, '')
  await truncate(file, 3 * 1024 * 1024)
  await appendHead(file, 'a line')
  expect(await readFile(file, 'utf8')).toBe('a line\n')
  expect((await stat(`${file}.1`)).size).toBe(3 * 1024 * 1024)
  const link = join(dir, 'link')
  await symlink(file, link)
  await expect(appendHead(link, 'another')).rejects.toMatchObject({ field: 'DROVER_SEAL_HEADS_FILE' })
  await mkdir(join(dir, 'folder'))
  await expect(appendHead(join(dir, 'folder'), 'x')).rejects.toMatchObject({ code: 'heads-file-refused' })
})
