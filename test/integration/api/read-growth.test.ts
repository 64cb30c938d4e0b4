import { describe, expect, test } from 'vitest'
import {
  countOpenEffects,
  type EffectFilter,
  listEffects,
  openEffectsMax,
} from '../../../db/queries/effects/list-effects.ts'
import { type JobFilter, listJobs } from '../../../db/queries/jobs/list-jobs.ts'
import { readingOf } from '../../support/plans.ts'
import { createDatabase, reserveConnection } from '../../support/postgres.ts'

// What a page costs must depend on what it shows, not on how long Drover has run: so it is asked here on a history
// that is a thousand times longer than a page, and what Postgres read is counted.

const { db } = await createDatabase()
const history = 60_000
const days = 30
const dayMs = 24 * 3_600_000
const end = Date.parse('2026-06-30T00:00:00Z')
const page = { before: undefined, limit: 51 }

/** Jobs of thirty days, two thousand a day. What is rare among them is old, where a scan finds it last. */
const writeJobs = () => db`
  with one as (
    select n, ${end}::float8 - (${history}::int - n) * (${days}::int * ${dayMs}::float8 / ${history}::int) as ms
    from generate_series(1, ${history}::int) n
  ), made as (
    insert into job (id, kind, subject_type, subject_id, payload, payload_version, state, bell, lane, priority,
      wait_reason, wait_since, wait_until, created_by, created_at, finished_at)
    select (lpad(to_hex(ms::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
      case when n between 1000 and 1019 then 'plan-batch' else 'self-test' end,
      case when n % 1000 = 0 then 'machine' else 'self-test' end,
      case when n % 1000 = 0 then 'vm-7' else n::text end,
      '{}', 1, state, 'due', case when n between 2000 and 2199 then 'batch/wave-1' else 'default' end, 0,
      case when state = 'waiting' then 'window' end, case when state = 'waiting' then at end,
      case when state = 'waiting' then at end, 'test', at,
      case when state in ('succeeded', 'failed', 'canceled') then at end
    from (
      select n, ms, to_timestamp(ms / 1000) as at, case
        when n between 3000 and 3029 then 'failed'
        when n between 4000 and 4029 then 'canceled'
        when n between 5000 and 5019 then 'waiting'
        when n > ${history}::int - 100 then 'ready'
        else 'succeeded' end as state
      from one
    ) stated
    returning id, kind, lane, subject_type, subject_id
  )
  insert into job_search (job_id, kind, lane, subject_type, subject_id)
  select id, kind, lane, subject_type, subject_id from made`

/** Effects of the same jobs, nearly all done. */
const writeEffects = () => db`
  insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state)
  select (left(id::text, 19) || 'e' || substr(id::text, 21))::uuid, id, subject_type, subject_id, 1,
    'lab-create-vm', case when n % 2 = 0 then 'lab' else 'vc-1' end, 'vm-' || n, case
      when n between 1000 and 1099 then 'debt'
      when n between 2000 and 2049 then 'intended'
      when n between 3000 and 3029 then 'waived'
      else 'done' end
  from (select *, row_number() over (order by id) as n from job) numbered`

await writeJobs()
await writeEffects()
// Of a part of the rows, which is what Postgres looks at by default, statistics and plans differ from run to run.
const session = await reserveConnection(db)
await session`set default_statistics_target = 1000`
await session`vacuum analyze job, job_search, effect`
session.release()

describe('a page of jobs', () => {
  const state = 'failed' as const
  test.each<[what: string, filter: JobFilter, least: number, most: number]>([
    ['the newest', {}, 51, 110],
    ['a rare kind', { kind: 'plan-batch' }, 20, 110],
    ['a rare kind that succeeded', { kind: 'plan-batch', state: 'succeeded' }, 20, 110],
    ['a common kind', { kind: 'self-test' }, 51, 210],
    ['a batch', { lane: 'batch/wave-1' }, 51, 420],
    ['the default lane', { lane: 'default' }, 51, 210],
    ['a rare kind in the default lane', { kind: 'plan-batch', lane: 'default' }, 20, 110],
    ['a subject', { subject: { type: 'machine', id: 'vm-7' } }, 51, 210],
    ['failed ones', { state }, 30, 110],
    ['failed ones of a kind', { state, kind: 'self-test' }, 30, 110],
    ['failed ones of the default lane', { state, lane: 'default' }, 30, 110],
    ['canceled ones', { state: 'canceled' }, 30, 110],
    ['canceled ones of a common kind', { state: 'canceled', kind: 'self-test' }, 30, 110],
    ['canceled ones of the default lane', { state: 'canceled', lane: 'default' }, 30, 110],
    ['waiting ones', { state: 'waiting' }, 20, 110],
    ['ready ones', { state: 'ready' }, 51, 210],
    ['running ones', { state: 'running' }, 0, 10],
    // The ids bound the time, with a day of slack for clocks: two thousand jobs here, however long the history is.
    ['old ones', { createdBefore: new Date(end - 20 * dayMs) }, 51, 2_210],
    ['new ones of a rare kind', { createdAfter: new Date(end - dayMs), kind: 'plan-batch' }, 0, 110],
    ['old ones of a rare kind', { createdBefore: new Date(end - 20 * dayMs), kind: 'plan-batch' }, 20, 110],
  ])('of %s reads few', async (_, filter, least, most) => {
    expect(await listJobs(db, filter, page)).toHaveLength(least)
    const { rows, scans } = await readingOf(db, (asked) => listJobs(asked, filter, page))
    expect(rows, scans.join(', ')).toBeGreaterThanOrEqual(least)
    expect(rows, scans.join(', ')).toBeLessThanOrEqual(most)
  })

  test('further back reads no more', async () => {
    const newest = await listJobs(db, { kind: 'self-test' }, { ...page, limit: 20_000 })
    const back = { ...page, before: newest.at(-1)?.id }
    const { rows, scans } = await readingOf(db, (asked) => listJobs(asked, { kind: 'self-test' }, back))
    expect(rows, scans.join(', ')).toBeLessThanOrEqual(210)
  })
})

describe('a page of effects', () => {
  test.each<[what: string, filter: EffectFilter, least: number, most: number]>([
    ['the newest', {}, 51, 110],
    ['done ones', { states: ['done'] }, 51, 110],
    ['debts', { states: ['debt'] }, 51, 210],
    ['the residue', { states: ['debt', 'intended'] }, 51, 210],
    ['waived ones', { states: ['waived'] }, 30, 110],
    ['undone ones', { states: ['undone'] }, 0, 10],
    ['debts of a platform', { states: ['debt'], platform: 'lab' }, 50, 210],
    ['a subject', { subject: { type: 'machine', id: 'vm-7' } }, 51, 210],
  ])('of %s reads few', async (_, filter, least, most) => {
    expect(await listEffects(db, filter, page)).toHaveLength(least)
    const { rows, scans } = await readingOf(db, (asked) => listEffects(asked, filter, page))
    expect(rows, scans.join(', ')).toBeGreaterThanOrEqual(least)
    expect(rows, scans.join(', ')).toBeLessThanOrEqual(most)
  })
})

describe('open effects', () => {
  test('are counted without reading those that are done', async () => {
    expect(await countOpenEffects(db, {})).toEqual({ intended: 50, debt: 100 })
    expect(await countOpenEffects(db, { platform: 'lab' })).toEqual({ intended: 25, debt: 50 })
    const { rows, scans } = await readingOf(db, (asked) => countOpenEffects(asked, { platform: 'lab' }))
    expect(rows, scans.join(', ')).toBeLessThanOrEqual(150)
  })

  test('are counted no further than anybody would look', async () => {
    await db`update effect set state = 'debt' where state = 'done' and platform = 'vc-1'`
    expect(await countOpenEffects(db, {})).toEqual({ intended: 50, debt: openEffectsMax + 1 })
    const { rows, scans } = await readingOf(db, (asked) => countOpenEffects(asked, {}))
    expect(rows, scans.join(', ')).toBeLessThanOrEqual(openEffectsMax + 60)
  })
})
