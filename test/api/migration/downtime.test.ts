import { v7 as uuidv7 } from 'uuid'
import { beforeEach, describe, expect, test } from 'vitest'
import { beatWorker } from '../../../db/queries/fleet/workers.ts'
import { listDown } from '../../../db/queries/sites/list-down.ts'
import { addOne } from '../../support/ledger.ts'
import { readingOf } from '../../support/plans.ts'
import { createDatabase } from '../../support/postgres.ts'
import { type Body, clientOf, depsOver } from '../setup.ts'
import { addFleet, emptyMigration, moveRow, restEntries, startBatch } from './batch-rows.ts'

const database = await createDatabase()
const { db } = database
const call = clientOf(depsOver(db))

interface Down {
  readonly count: number
  readonly message: string
  readonly entries: readonly {
    readonly id: string
    readonly instance: string
    readonly since: string
    readonly until: string | null
    readonly because: string
  }[]
}

const worker = {
  ...{ id: uuidv7(), role: 'worker', host: 'here', pid: 1, version: '0.1.0' },
  kinds: { 'final-verify': 9 },
  slots: { 'final-verify': 1 },
}
const end = new Date(Date.now() + 7_200_000).toISOString()
const ids: Record<string, string> = {}
const downOf = (body: Body): Down => body.down as Down

beforeEach(async () => {
  await emptyMigration(db)
  await db`truncate worker`
  await addFleet(db, ['web-1', 'web-2', 'web-3', 'web-4'])
  await startBatch(db, call, { migration_windows: [{ name: 'night', start: null, end }] })
  await restEntries(db)
  for (const { name, id } of (await call('GET', '/v1/queue')).body.items) ids[name] = id
  const night = { windowName: 'night', stopped: true }
  await moveRow(db, ids['web-1'] ?? '', { state: 'final-import', stage: 'final', ...night })
  await moveRow(db, ids['web-2'] ?? '', { state: 'conflict', stage: 'complete', ...night })
  // It is being put right, or that fails again and again.
  await moveRow(db, ids['web-3'] ?? '', { state: 'canceled', stopped: true })
})

describe('who is off because of a batch', () => {
  // promise: off-said-first
  test('is said by the batch, with since when, until when and what brings each back', async () => {
    const down = downOf((await call('GET', '/v1/batches/wave-1')).body)
    expect(down.count).toBe(3)
    expect(down.message).toMatch(/^3 machines are off for their migration: web-[123] \(since /)
    const of = (name: string) => down.entries.find(({ instance }) => instance === name)
    expect(of('web-1')).toMatchObject({ id: ids['web-1'], until: end })
    expect(of('web-2')?.because).toContain('A person has to decide its conflict')
    expect(of('web-3')).toMatchObject({ until: null })
    expect(of('web-3')?.because).toContain('to be switched on again')
  })

  test('is not said of a guest that is given time to shut down: it is counted apart, with its end', async () => {
    const guestUntil = new Date(Date.now() + 300_000)
    await moveRow(db, ids['web-1'] ?? '', {
      ...{ state: 'final-import', stage: 'final', windowName: 'night', guestUntil },
    })
    const down = downOf((await call('GET', '/v1/batches/wave-1')).body)
    expect(down).toMatchObject({ count: 3, shutting_down: 1 })
    expect(down.message).toMatch(
      /^2 machines are off .*, and 1 machine still runs that was asked .* and web-1 \(asked to shut down at .*, still running, forced off at /,
    )
    const { body } = await call('GET', `/v1/queue/${ids['web-1']}`)
    const shutdown = { until: guestUntil.toISOString(), end: 'forced' }
    expect(body).toMatchObject({ source_off_at: null, down: { since: body.source_stopped_at, shutdown } })
    await db`update entry set source_off_at = now() where id = ${ids['web-1'] ?? ''}::uuid`
    const { body: off } = await call('GET', `/v1/queue/${ids['web-1']}`)
    expect(off.down).toMatchObject({ since: off.source_off_at, shutdown: null })
  })

  test('is said of all batches together, for whoever starts Drover anew', async () => {
    const all = (await call('GET', '/v1/down')).body as unknown as Down
    expect(all).toEqual(downOf((await call('GET', '/v1/batches/wave-1')).body))
    expect(all.count).toBe(3)
  })

  test('is in the answer to a stop, which says until when each stays off', async () => {
    const { body } = await call('POST', '/v1/batches/wave-1/:stop')
    expect(downOf(body).count).toBe(3)
    const one = downOf(body).entries.find(({ instance }) => instance === 'web-1')
    expect(one?.because).toBe('Its batch is stopped: it is switched on again when its window "night" ends.')
  })

  test('is said by the entry and in the list, also of a conflict', async () => {
    const { body } = await call('GET', `/v1/queue/${ids['web-2']}`)
    expect(body.down).toMatchObject({ until: end })
    const items = (await call('GET', '/v1/queue')).body.items
    expect(items.map(({ name, down }) => [name, down !== null])).toEqual([
      ['web-1', true],
      ['web-2', true],
      ['web-3', true],
      ['web-4', false],
    ])
  })

  test('names the platform that does not answer, and since when', async () => {
    await db`update site set connectivity = 'cannot-connect', connectivity_since = '2026-11-19T12:03:00Z',
      connectivity_error = '{"code": "platform-unreachable", "message": "10.0.0.1:443 cannot be reached (ECONNREFUSED)."}'
      where role = 'target'`
    const { body } = await call('GET', `/v1/queue/${ids['web-1']}`)
    expect((body.down as { because: string }).because).toMatch(
      /^The target oslo does not answer, since 2026-11-19 12:03 UTC: 10\.0\.0\.1:443 cannot be reached \(ECONNREFUSED\)\. Its /,
    )
  })

  test('is said with the platform also by the entry, its wait and what keeps it from progress', async () => {
    const since = new Date(Date.now() - 120_000).toISOString()
    await db`update site set connectivity = 'cannot-connect', connectivity_since = ${since}::timestamptz,
      connectivity_error = '{"code": "platform-unreachable", "message": "It cannot be reached (ECONNREFUSED)."}'
      where role = 'target'`
    const id = await addOne(db, {
      kind: 'final-verify',
      subject: { type: 'entry', id: ids['web-1'] ?? '' },
      payload: { batch: 'wave-1', entry_id: ids['web-1'] },
    })
    await db`update job set created_at = ${since}::timestamptz, run_after = now() + interval '10 minutes',
      error = '{"code": "platform-unreachable", "class": "environment", "message": "x:443 cannot be reached (ECONNREFUSED)."}'
      where id = ${id}::uuid`
    await db`update entry set job_id = ${id}::uuid where id = ${ids['web-1'] ?? ''}::uuid`
    const { body } = await call('GET', `/v1/queue/${ids['web-1']}`)
    const says = expect.stringContaining('The target oslo does not answer, since ')
    expect(body).toMatchObject({
      away: [{ role: 'target', name: 'oslo', since, message: says }],
      stall: { cause: 'target-not-connected', message: says },
      wait: { reason: 'not-due', detail: expect.stringContaining('x:443 cannot be reached (ECONNREFUSED).') },
    })
  })

  test.each(['worker', 'slot', 'pause'])('has an end to each wait of its job: for a %s', async (what) => {
    const id = await addOne(db, {
      kind: 'final-verify',
      subject: { type: 'entry', id: ids['web-1'] ?? '' },
      payload: { batch: 'wave-1', entry_id: ids['web-1'] },
    })
    await db`update entry set job_id = ${id}::uuid where id = ${ids['web-1'] ?? ''}::uuid`
    if (what === 'pause')
      await call('POST', '/v1/pauses', { json: { scope: 'kind', name: 'final-verify', reason: 'upgrade' } })
    if (what === 'slot') await beatWorker(db, worker, 'active')
    const told = {
      until: end,
      ends_when: expect.stringContaining('Its window "night" ends then, and it is called off.'),
    }
    const reason = { worker: 'no-worker', slot: 'worker-slot', pause: 'kind-paused' }[what]
    expect((await call('GET', `/v1/jobs/${id}`)).body.wait).toMatchObject({ reason, ...told })
    expect((await call('GET', `/v1/queue/${ids['web-1']}`)).body.wait).toMatchObject({ reason, ...told })
    await moveRow(db, ids['web-1'] ?? '', { state: 'background-import' })
    const { wait, next_look_at: lookAt } = (await call('GET', `/v1/queue/${ids['web-1']}`)).body
    expect(wait).toMatchObject({ until: lookAt })
  })

  test('is named by a refused reset, and nobody is off once their sources run again', async () => {
    const refused = await call('POST', '/v1/batches/wave-1/:reset')
    expect(refused.status).toBe(409)
    await db`update entry set source_stopped_at = null`
    expect(downOf((await call('GET', '/v1/batches/wave-1')).body)).toEqual({
      count: 0,
      shutting_down: 0,
      head: '',
      message: '',
      entries: [],
    })
  })

  test('costs no more to find among a hundred thousand that run', async () => {
    await db`insert into entry (id, batch_id, instance_id, source_id, state, reason, message, revision, facts, running)
      select gen_random_uuid(), batch_id, gen_random_uuid(), source_id, 'idle', 'x', 'x', 1, '{}', true
      from entry, generate_series(1, 20000) where id = ${ids['web-4'] ?? ''}::uuid`
    await db`analyze entry`
    const reading = await readingOf(db, (asked) => listDown(asked, {}, 20))
    expect(reading.rows).toBeLessThan(200)
  })
})
