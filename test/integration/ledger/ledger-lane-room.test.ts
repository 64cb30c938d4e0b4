import { v7 as uuidv7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { markRung } from '../../../db/queries/bell/mark-rung.ts'
import { beatWorker } from '../../../db/queries/fleet/workers.ts'
import { findDueJobs } from '../../../db/queries/jobs/find-due-jobs.ts'
import { pauseWork } from '../../../src/ledger/jobs/pause.ts'
import { add, claim } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

/** Of some kinds a lane has no more slots than it leaves free: what hangs in one lane stops no other. */
const { db } = await createDatabase()
const kind = 'self-test'
const worker = {
  ...{ id: uuidv7(), role: 'worker', host: 'here', pid: 1, version: '0', kinds: { [kind]: 1 } },
  slots: { [kind]: 8 },
}

beforeEach(async () => {
  await db`delete from job`
  await db`delete from pause`
  await beatWorker(db, worker, 'active')
})

const fill = (lane: string, jobs: number, priority = 0) =>
  add(db, ...Array.from({ length: jobs }, () => ({ lane, priority })))

/** What the relay rings in one look, as lanes; it is rung. */
const ring = async (slots: number | null = 8): Promise<string[]> => {
  const due = await findDueJobs(db, { windows: [{ kind, window: 100, slots }], silentMs: 60_000 })
  await markRung(db, due)
  const rows = await db<{ id: string; lane: string }[]>`
    select id, lane from job where id = any(${due.map(({ id }) => id)}::uuid[])`
  const lanes = new Map(rows.map(({ id, lane }) => [id, lane]))
  return due.map(({ id }) => lanes.get(id) ?? '').toSorted()
}

/** All that are rung run from now on, and never end. */
const hang = async (): Promise<void> => {
  const rung = await db<{ id: string }[]>`select id from job where state = 'ready' and bell = 'rung'`
  for (const { id } of rung) await claim(db, id, { workerId: worker.id })
}

test('a lane alone has as many as it leaves free, whether they are rung or run', async () => {
  await fill('dead', 20)
  expect(await ring()).toHaveLength(4)
  expect(await ring()).toEqual([])
  await hang()
  expect(await ring()).toEqual([])
})

test('a lane that hangs keeps no other from its turn, also where it goes first', async () => {
  await fill('dead', 20, 50)
  await ring()
  await hang()
  await fill('living', 5)
  expect(await ring()).toEqual(['living', 'living'])
  await db`update job set state = 'succeeded', bell = 'due', finished_at = now(), lease_until = null where lane = 'living' and bell = 'rung'`
  expect(await ring()).toEqual(['living', 'living'])
})

test('several lanes that begin at once leave a part free as well', async () => {
  for (const lane of ['a', 'b', 'c']) await fill(lane, 20)
  expect(await ring()).toEqual(['a', 'a', 'b', 'b', 'c', 'c'])
  await hang()
  await fill('living', 5)
  expect(await ring()).toEqual(['living'])
})

test('each lane has its first while there is a slot at all', async () => {
  for (let lane = 0; lane < 12; lane += 1) await fill(`lane-${String(lane).padStart(2, '0')}`, 2)
  expect(new Set(await ring()).size).toBe(8)
  expect(await ring()).toEqual([])
})

test('with one slot there is one at a time', async () => {
  await fill('only', 3)
  expect(await ring(1)).toEqual(['only'])
  expect(await ring(1)).toEqual([])
})

test('what a worker held that is silent, or lets go, takes no slot of those that live', async () => {
  await fill('dead', 20)
  await ring()
  await hang()
  await db`update worker set heartbeat_at = now() - interval '2 minutes'`
  expect(await ring()).toHaveLength(4)
})

test('where nothing is said of its lanes a kind is rung as far as its window goes', async () => {
  await fill('one', 20)
  expect(await ring(null)).toHaveLength(20)
})

test('what is to be undone in a paused lane waits for no share of it', async () => {
  const [id = ''] = await fill('paused', 1)
  await fill('dead', 20)
  await pauseWork(db, { scope: 'lane', name: 'paused', by: 'test', reason: 'test' })
  await db`update job set cancel_requested_at = now() where id = ${id}::uuid`
  expect(await ring()).toContain('paused')
})
