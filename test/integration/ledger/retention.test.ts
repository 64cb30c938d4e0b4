import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { systemClock } from '../../../src/clock.ts'
import { pruneOnce, retentionService } from '../../../src/ledger/conductor/retention.ts'
import { verifySeals } from '../../../src/ledger/seals/verify-seals.ts'
import { atEnd } from '../../support/cleanup.ts'
import { pruning, quietLog, sealAll, testSealer as sealer, writeEvents } from '../../support/events.ts'
import { createDatabase, reserveConnection } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

/** Jobs whose ids say what they are, by their idempotency key. */
const addJobs = async (
  db: Db,
  key: string,
  count: number,
  state: string,
  endedDaysAgo?: number,
): Promise<void> => {
  await db`
    insert into job (id, kind, subject_type, subject_id, idempotency_key, payload, payload_version, state, lane,
      created_by, finished_at)
    select gen_random_uuid(), 'self-test', 'self-test', 'one', ${key} || '-' || n, '{}', 1, ${state}, 'default',
      'test', case when ${endedDaysAgo ?? null}::int is null then null
        else now() - ${endedDaysAgo ?? 0}::int * interval '1 day' end
    from generate_series(1, ${count}::int) n`
  await db`
    insert into job_search (job_id, kind, lane, subject_type, subject_id)
    select id, kind, lane, subject_type, subject_id from job on conflict do nothing`
}

const addEffect = async (db: Db, key: string, state: string): Promise<void> => {
  await db`
    insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state)
    select ${randomUUID()}::uuid, id, 'self-test', 'one', 1, 'marker', 'self-test', ${key}, ${state}
    from job where idempotency_key = ${key}`
}

const keysLeft = async (db: Db): Promise<string[]> =>
  (await db<{ key: string }[]>`select idempotency_key as key from job order by key`).map(({ key }) => key)

const pruneAll = async (db: Db, batch: number): Promise<number> => {
  for (let rounds = 1; ; rounds += 1) if (!(await pruneOnce({ db, batch, ...pruning })).more) return rounds
}

describe('retention of jobs', () => {
  test('five batches leave exactly what must stay, and a debt keeps its job', async () => {
    const { db } = await createDatabase()
    await addJobs(db, 'old', 41, 'succeeded', 31)
    await addJobs(db, 'canceled', 5, 'canceled', 31)
    await addJobs(db, 'young', 2, 'succeeded', 29)
    await addJobs(db, 'failed', 1, 'failed', 60)
    await addJobs(db, 'forgotten', 1, 'failed', 91)
    await addJobs(db, 'ready', 1, 'ready')
    await addEffect(db, 'old-1', 'debt')
    await addEffect(db, 'old-2', 'intended')
    await addEffect(db, 'old-3', 'done')
    await addEffect(db, 'old-4', 'undone')
    await addEffect(db, 'old-5', 'waived')
    expect(await pruneAll(db, 10)).toBe(5)
    expect(await keysLeft(db)).toEqual(['failed-1', 'old-1', 'old-2', 'ready-1', 'young-1', 'young-2'])
    expect(await db`select 1 from job_search where job_id not in (select id from job)`).toHaveLength(0)
    const effects = await db`select state from effect order by state`
    expect(effects.map((effect) => effect.state)).toEqual(['debt', 'intended'])
    await db`update effect set state = 'waived'`
    await pruneAll(db, 10)
    expect(await keysLeft(db)).toEqual(['failed-1', 'ready-1', 'young-1', 'young-2'])
  })

  test('a changed setting counts from the next round on, and a job in use is not waited for', async () => {
    const { db } = await createDatabase()
    await addJobs(db, 'job', 3, 'succeeded', 3)
    await pruneAll(db, 10)
    expect(await keysLeft(db)).toHaveLength(3)
    await db`insert into setting (name, value, updated_by) values ('retention-jobs-days', '2', 'test')`
    const user = await reserveConnection(db)
    try {
      await user`begin`
      await user`select 1 from job where idempotency_key = 'job-2' for update`
      await pruneAll(db, 10)
      expect(await keysLeft(db)).toEqual(['job-2'])
      await user`rollback`
    } finally {
      user.release()
    }
    await pruneAll(db, 10)
    expect(await keysLeft(db)).toEqual([])
  })
})

describe('retention of events', () => {
  /** Two seals of three events, one of a large transaction, one of today, and an event that is not sealed. */
  const setUp = async (daysAgo = 0): Promise<Db> => {
    const { db } = await createDatabase()
    for (let at = 0; at < 6; at += 1) await writeEvents(db, [{ reason: String(at) }], daysAgo)
    await writeEvents(
      db,
      Array.from({ length: 25 }, () => ({ reason: 'large' })),
      daysAgo,
    )
    await sealAll(db, { eventsMax: 3, daysAgo })
    await writeEvents(db, [{ reason: 'last' }])
    await sealAll(db, { eventsMax: 3 })
    await writeEvents(db, [{ reason: 'not sealed' }])
    return db
  }

  test('takes whole sealed ranges away, oldest first, and the chain goes on to verify', async () => {
    const db = await setUp(400)
    expect(await verifySeals(db, sealer, { keptDays: 365 })).toMatchObject({ ok: true, seals: 4, pruned: 0 })
    const rounds: boolean[] = []
    for (let more = true; more; ) {
      more = (await pruneOnce({ db, batch: 10, ...pruning })).more
      // Also in the middle of a large range the chain holds.
      rounds.push((await verifySeals(db, sealer, { keptDays: 365 })).ok)
    }
    expect(rounds.length).toBeGreaterThan(4)
    expect(new Set(rounds)).toEqual(new Set([true]))
    const left = await db`select distinct reason from event where reason is not null order by reason`
    expect(left.map((event) => event.reason)).toEqual(['last', 'not sealed'])
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, seals: 4, pruned: 3, events: 1 })
    const statements =
      await db`select from_seq, to_seq, kind, kept_days, pruned_by from event_prune order by 1`
    const said = { kind: 'pruned', keptDays: 365, prunedBy: 'test' }
    expect(statements).toEqual([
      { fromSeq: 1, toSeq: 2, ...said },
      { fromSeq: 3, toSeq: 3, ...said },
    ])
    const told = await db`select detail from event where type = 'events.pruned' order by era, xid, id`
    expect(told.map(({ detail }) => detail)).toEqual([
      { from_seq: 1, to_seq: 2, kept_days: 365 },
      { from_seq: 3, to_seq: 3, kept_days: 365 },
    ])
    await db`insert into event (xid, type, subject_type, subject_id, actor) values ('5', 'x', 'y', 'z', 'test')`
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: false, firstBroken: { seq: 1 } })
  })

  test('nothing younger than the setting goes, sealed or not', async () => {
    const db = await setUp()
    expect(await pruneOnce({ db, ...pruning })).toMatchObject({ events: 0, more: false })
    expect(await verifySeals(db, sealer)).toMatchObject({ ok: true, pruned: 0 })
  })
})

test('the rest: signals, kept answers, ended sessions, processes that are gone', async () => {
  const { db } = await createDatabase()
  await db`insert into signal (name, at) values ('old', now() - interval '61 minutes'), ('new', now() - interval '59 minutes')`
  await db`insert into api_request (actor, key, digest, created_at)
    values ('a', 'old', '', now() - interval '25 hours'), ('a', 'new', '', now() - interval '23 hours')`
  await db`insert into access_token (id, name, role, hash, hint, created_by)
    values (gen_random_uuid(), 'viewer', 'viewer', '', '', 'test')`
  await db`
    insert into ended_session (id, token_id, expires_at)
    select decode(session.id, 'hex'), token.id, session.expires_at from access_token token,
      (values ('0a', now() - interval '25 hours'), ('0b', now() - interval '23 hours'),
        ('0c', now() + interval '1 hour')) session (id, expires_at)`
  await db`
    insert into worker (id, role, host, pid, version, kinds, slots, state, heartbeat_at, stopped_at)
    select gen_random_uuid(), role, 'h', 1, '1', '{}', '{}', state, at, case state when 'stopped' then at end
    from (values ('gone', 'stopped', now() - interval '8 days'), ('lost', 'lost', now() - interval '8 days'),
      ('lately', 'stopped', now() - interval '6 days'), ('silent', 'active', now() - interval '8 days')
    ) worker (role, state, at)`
  const service = retentionService({
    db,
    clock: systemClock,
    log: quietLog,
    ...pruning,
    batch: 1,
    pauseMs: 1,
  })
  service.start()
  atEnd(() => service.stop())
  const left = async () => {
    const rows = await db<{ name: string }[]>`
      select name from signal union all select key from api_request union all select role from worker
      union all select encode(id, 'hex') from ended_session order by name`
    return rows.map(({ name }) => name)
  }
  await until(async () => (await left()).length === 6, { what: 'what is old to be gone' })
  await service.stop()
  expect(await left()).toEqual(['0b', '0c', 'lately', 'new', 'new', 'silent'])
})
