import { expect, test } from 'vitest'
import { operationVariants, variantText } from '../../../src/domain/operation/kinds/kinds.ts'
import { handleOperateMachine } from '../../../workers/handlers/operate-machine.ts'
import { createEntryWorker } from '../../support/entry-world.ts'
import { createInventoryWorker } from '../../support/inventory.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver, type Reply } from '../setup.ts'

const { db } = await createDatabase()
const limits = { requestsPerSecond: 100_000, requestsBurst: 100_000 }
const call = clientOf(depsOver(db, { limits }))
const { use } = createInventoryWorker(db, () => {
  throw new Error('Nothing here is done to any machine.')
})
const worker = createEntryWorker(db, [handleOperateMachine], use)

/** Written down by hand from the published matrix: the older in rows, the newer in columns. */
const matrix = `
           start stop stop! restart restart! migrate migrate! evict evict! hibernate wake snapshot restore clone
start      -     YES  YES   -       -        -       -        -     -      -         -    -        -       -
stop       -     -    YES   -       YES      -       -        -     -      -         -    -        -       -
stop!      -     -    -     -       -        -       -        -     -      -         -    -        -       -
restart    -     -    YES   -       YES      -       -        -     -      -         -    -        -       -
restart!   -     -    -     -       -        -       -        -     -      -         -    -        -       -
migrate    -     YES  YES   YES     YES      -       -        -     -      -         -    -        -       -
migrate!   -     YES  YES   YES     YES      -       -        -     -      -         -    -        -       -
evict      -     YES  YES   YES     YES      -       -        -     -      -         -    -        -       -
evict!     -     YES  YES   YES     YES      -       -        -     -      -         -    -        -       -
hibernate  -     -    -     -       -        -       -        -     -      -         -    -        -       -
wake       -     -    -     -       -        -       -        -     -      -         -    -        -       -
snapshot   -     -    -     -       -        -       -        -     -      -         -    -        -       -
restore    -     -    -     -       -        -       -        -     -      -         -    -        -       -
clone      -     -    -     -       -        -       -        -     -      -         -    -        -       -
`

interface Pair {
  readonly older: string
  readonly newer: string
  readonly outcome: 'supersede' | 'refuse'
}

const [head = '', ...rows] = matrix.trim().split('\n')
const columns = head.trim().split(/\s+/)
const pairs: readonly Pair[] = rows.flatMap((row) => {
  const [older = '', ...cells] = row.trim().split(/\s+/)
  return cells.map((cell, at) => ({
    older,
    newer: columns[at] ?? '',
    outcome: cell === 'YES' ? ('supersede' as const) : ('refuse' as const),
  }))
})

/** Each kind as the older and as the newer one a few times. Unit tests decide all 196; what follows is the API's own. */
const sample = pairs.filter(({ outcome }, at) => outcome === 'supersede' || at % 5 === 0)

const paramsOf: Readonly<Record<string, object>> = {
  restore: { snapshot: 'before' },
  clone: { name: 'copy' },
}

const variantOf = (text: string) => ({ kind: text.replace('!', ''), force: text.endsWith('!') })

const ask = (machine: string, text: string, more: object = {}): Promise<Reply> => {
  const { kind, force } = variantOf(text)
  const params = paramsOf[kind] ?? {}
  return call('POST', '/v1/operations', { json: { machine, kind, force, params, ...more } })
}

const look = async (id: unknown) => (await call('GET', `/v1/operations/${String(id)}`)).body

/** What a machine has to be for an operation to make sense on it. */
const fitFor = (text: string) => {
  if (text === 'start') return { power: 'off' } as const
  if (text === 'wake') return { power: 'off', savedState: 'state-1' } as const
  return { power: 'on' } as const
}

// promise: matrix
test('the table names all 196 pairs, and the API serves the same', async () => {
  expect(pairs).toHaveLength(196)
  expect(columns).toHaveLength(14)
  expect(new Set(columns)).toEqual(new Set(operationVariants.map(variantText)))
  const { body } = await call('GET', '/v1/operations/matrix')
  const served = (body.pairs as { older: object; newer: object; outcome: string }[]).map((pair) =>
    JSON.stringify([pair.older, pair.newer, pair.outcome]),
  )
  const written = pairs.map(({ older, newer, outcome }) =>
    JSON.stringify([variantOf(older), variantOf(newer), outcome]),
  )
  expect(served.sort()).toEqual(written.sort())
})

/** Makes both, and says what became of them. */
const tryPair = async ({ older, newer }: Pair): Promise<unknown[]> => {
  const machine = await addMachine(db, fitFor(older))
  const first = await ask(machine, older)
  expect(first.status, first.text).toBe(202)
  const rehearsed = await ask(machine, newer, { dry_run: true })
  const second = await ask(machine, newer)
  const then = await look(first.body.id)
  const refused = [second.status, second.body.code, second.body.blocker, then.state, then.superseded_by]
  if (JSON.stringify(refused) === JSON.stringify([409, 'blocked', first.body.id, 'pending', null]))
    return [older, newer, 'refuse', rehearsed.body.reason, rehearsed.body.blocker === first.body.id]
  const now = await look(second.body.id)
  expect([second.status, then.state, then.superseded_by]).toEqual([202, 'superseded', now.id])
  expect([now.state, now.supersedes]).toEqual(['pending', [then.id]])
  // Nothing of it was begun: it is over, and its job with it.
  expect(then.settled_at).not.toBeNull()
  const [job] = await db`select state from job where id = ${String(then.job_id)}::uuid`
  expect(job?.state).toBe('canceled')
  return [older, newer, 'supersede', rehearsed.body.reason, rehearsed.body.supersedes === then.id]
}

// promise: matrix
test('whatever takes a place and a fifth of the other pairs leave both operations where the matrix says', async () => {
  const ends: unknown[] = []
  for (let at = 0; at < sample.length; at += 14)
    ends.push(...(await Promise.all(sample.slice(at, at + 14).map(tryPair))))
  expect(ends).toEqual(
    sample.map(({ older, newer, outcome }) => [
      ...[older, newer, outcome],
      ...[outcome === 'refuse' ? 'blocked' : null, true],
    ]),
  )
})

/** As if a worker had begun it and were at it. */
const begin = async (id: unknown) => {
  await db`update operation set state = 'running', reason = 'in-progress', started_at = now(),
    deadline_at = now() + interval '1 hour' where id = ${String(id)}::uuid`
  await db`update job set state = 'running', lease_until = now() + interval '1 hour', lease_epoch = 1
    where id = (select job_id from operation where id = ${String(id)}::uuid)`
}

// promise: matrix
test('what has begun and is superseded is called off, and not settled before its job has let go', async () => {
  for (const { older, newer } of pairs.filter(({ outcome }) => outcome === 'supersede')) {
    const machine = await addMachine(db, fitFor(older))
    const first = await ask(machine, older)
    await begin(first.body.id)
    const second = await ask(machine, newer)
    expect([older, newer, second.status], second.text).toEqual([older, newer, 202])
    const then = await look(first.body.id)
    expect(then).toMatchObject({ state: 'superseded', superseded_by: second.body.id, settled_at: null })
    expect(then.message).toContain(second.body.id)
    const [job] =
      await db`select cancel_requested_at, cancel_reason from job where id = ${String(then.job_id)}::uuid`
    expect(job?.cancelRequestedAt).not.toBeNull()
    expect(job?.cancelReason).toContain(second.body.id)
    // The newer says whom it waits for as soon as its own job has looked, and has reached nobody yet.
    expect(await worker.follow(String(second.body.job_id))).toMatchObject({
      ...{ state: 'waiting', waitReason: 'awaiting-older', waitSignal: `machine/${machine}/let-go` },
    })
    const now = await look(second.body.id)
    expect(now).toMatchObject({ state: 'pending', reason: 'awaiting-older' })
    expect(now.message).toContain(String(then.id))
    expect(now.waits).toMatchObject({ reason: 'awaiting-older', older: [then.id], until: now.expires_at })
  }
})

/** Asks for the newer of a pair to be refused, then to queue. */
const tryRules = async ({ older, newer }: Pair): Promise<unknown[]> => {
  const machine = await addMachine(db, fitFor(older))
  const { id } = (await ask(machine, older)).body
  const refused = await ask(machine, newer, { on_conflict: 'reject' })
  const queued = await ask(machine, newer, { on_conflict: 'queue' })
  const { state, position, blocker, job_id } = queued.body
  return [
    ...[older, newer, refused.status, refused.body.code, refused.body.blocker === id],
    ...[queued.status, state, position, blocker === id, job_id, (await look(id)).state],
  ]
}

test('with on_conflict: queue whatever meets queues, and with reject it is refused', async () => {
  const ends: unknown[] = []
  for (let at = 0; at < sample.length; at += 14)
    ends.push(...(await Promise.all(sample.slice(at, at + 14).map(tryRules))))
  expect(ends).toEqual(
    sample.map(({ older, newer }) => [
      ...[older, newer, 409, 'blocked', true],
      ...[202, 'queued', 1, true, null, 'pending'],
    ]),
  )
})
