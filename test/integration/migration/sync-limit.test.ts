import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { writeTracking } from '../../../db/queries/instances/write-tracking.ts'
import { deleteLimit, writeLimit } from '../../../db/queries/tokens/limits.ts'
import { readmitAll } from '../../../src/ledger/jobs/admission.ts'
import { advanceEntries } from '../../../src/migration/batch/scheduler.ts'
import { lookNow } from '../../support/drive-entry.ts'
import { entryOf, placeEntry } from '../../support/entry-world.ts'
import { quietLog } from '../../support/events.ts'
import { createLab } from '../../support/lab.ts'
import { claim, holdsOf, jobOf, mustClaim } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
const token = `batch/${world.batch.name}`
const limit = (name: string, capacity: number) =>
  db.begin((tx) => writeLimit(tx as Tx, { name, capacity, by: 'test' }))

beforeEach(async () => {
  await db`truncate entry, entry_disk, entry_extent, batch_window, job, job_search, token_hold, admission_limit`
  await world.setBatch({ config: { sync_limit: 1 } })
  await limit(token, 1)
})

/** The first copies of these, as the scheduler sends them; their window opens later. */
const sent = async (refs: readonly string[]) => {
  await db`insert into batch_window (id, batch_id, name, starts_at, ends_at) values (${uuidv7()}::uuid,
    ${world.batch.id}::uuid, 'night', now() + interval '4 minutes', now() + interval '5 hours')`
  const jobs: string[] = []
  for (const ref of refs) {
    const { id, instanceId, facts } = await placeEntry(world, ref)
    const disks = (facts.disks as { key: string }[]).map(({ key }) => [key, 'verified'])
    await db.begin((tx) => writeTracking(tx as Tx, instanceId, Object.fromEntries(disks)))
    await lookNow(world)
    jobs.push(String((await entryOf(db, id)).jobId))
  }
  return jobs
}

/** Of a batch that takes one at once: one has begun, the others wait for it. */
const queued = async (refs: readonly string[]) => {
  const [first = '', ...others] = await sent(refs)
  await mustClaim(db, first)
  for (const id of others) {
    expect(await claim(db, id)).toBeUndefined()
    expect(await jobOf(db, id)).toMatchObject({ state: 'waiting', waitDetail: `waits for ${token}` })
  }
  return others
}

/** Time goes on to the opening of the window, and the scheduler looks at whom it said that it would look at by then. */
const openWindow = async () => {
  await db`
    update entry set look_at = look_at - (select starts_at - now() from batch_window) - interval '1 second'`
  await db`update batch_window set starts_at = now() - interval '1 second'`
  const late = await db`select from entry where look_at > now()`
  expect(late).toHaveLength(0)
  await advanceEntries({ db, log: quietLog })
}

// promise: silent-target
test('all first copies that wait for the limit of their batch may run when their window opens', async () => {
  const others = await queued(['vm-101', 'vm-102', 'vm-103'])
  await openWindow()
  for (const id of others) {
    expect(await jobOf(db, id)).toMatchObject({ state: 'ready', waitSignal: null })
    expect((await world.worker.finish(id)).state).toBe('succeeded')
  }
  expect(await holdsOf(db, token)).toHaveLength(1)
})

test('what else they need they go on waiting for, and are told so', async () => {
  const imports = `target-imports/${world.target.name}`
  await limit(imports, 2)
  const [one = '', other = ''] = await queued(['vm-104', 'vm-105', 'vm-106'])
  await openWindow()
  const states = await Promise.all([one, other].map(async (id) => (await jobOf(db, id)).state))
  expect(states.sort()).toEqual(['ready', 'waiting'])
  const waits = (await jobOf(db, one)).state === 'waiting' ? one : other
  const { tokens, waitDetail } = await jobOf(db, waits)
  expect(tokens).not.toContain(token)
  expect(waitDetail).not.toContain(token)
  expect(waitDetail).toContain(imports)
  expect((await world.worker.finish(waits === one ? other : one)).state).toBe('succeeded')
  expect((await jobOf(db, waits)).state).toBe('ready')
})

test('without the limit nobody waits for it, whoever asked for it before', async () => {
  const others = await queued(['vm-203', 'vm-206', 'vm-207'])
  await db.begin((tx) => deleteLimit(tx as Tx, token))
  await readmitAll(db)
  for (const id of others) expect((await jobOf(db, id)).state).toBe('ready')
  expect(await holdsOf(db, token)).toHaveLength(3)
})

test('a copy waits for its turn at the host and on the datastores of its source', async () => {
  await world.setBatch({})
  const [id = ''] = await sent(['vm-204'])
  const { tokens } = await jobOf(db, id)
  const taken = tokens.filter((one) => /^source-(?:host-reads|snapshots)\//.test(one))
  expect(taken.map((one) => one.split('/')[0])).toEqual(
    expect.arrayContaining(['source-host-reads', 'source-snapshots']),
  )
  for (const one of taken) await limit(one, 0)
  expect(await claim(db, id)).toBeUndefined()
  expect(await jobOf(db, id)).toMatchObject({ state: 'waiting', waitDetail: `waits for ${taken.join(', ')}` })
  for (const one of taken) await limit(one, 1)
  await readmitAll(db)
  expect((await world.worker.finish(id)).state).toBe('succeeded')
})
