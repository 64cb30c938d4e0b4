import { expect, test } from 'vitest'
import { FilterTurns, filterLimits, type Slices } from '../../../src/api/http/filter-turns.ts'
import { scan } from '../../../src/api/lists/scan.ts'
import { ApiError } from '../../../src/api/wire/problem.ts'
import { maxSteps, metered, spend, stepsSoFar } from '../../../src/domain/filter/meter.ts'
import { until } from '../../support/wait.ts'

/** Time stands still: slices end by the steps that were done. */
const clock = { monotonicMs: () => 0 }

const filter = 'true'

/** Looks at `rows` rows, each of which takes `steps`. */
const look = (slices: Slices | undefined, options: { rows: number; steps: number; onRow?: () => void }) =>
  scan({
    clock: clock as never,
    budgetMs: 1_000,
    slices,
    limit: Number.POSITIVE_INFINITY,
    after: undefined,
    read: (after, limit) =>
      Promise.resolve(
        Array.from({ length: Math.min(limit, options.rows - Number(after ?? 0)) }, (_, at) => ({
          id: String(Number(after ?? 0) + at + 1),
        })),
      ),
    test: () => metered(() => spend(options.steps)) === undefined,
    onMatch: () => options.onRow?.(),
  })

/** Ends when what it is given has ended; answers the most steps that were done between two turns of the event loop. */
const mostBetweenTurns = async (work: Promise<unknown>): Promise<number> => {
  let most = 0
  let going = true
  let before = stepsSoFar()
  const turn = () => {
    most = Math.max(most, stepsSoFar() - before)
    before = stepsSoFar()
    if (going) setImmediate(turn)
  }
  setImmediate(turn)
  await work
  going = false
  return most
}

// promise: expensive-filters
test('200 expensive filters at once do little more between two turns of the event loop than one slice', async () => {
  const turns = new FilterTurns({ clock, limits: { ...filterLimits, scansPerActor: 200, scans: 200 } })
  const scans = Array.from({ length: 200 }, () =>
    turns.ask({ actor: 'ada', filter }, (slices) => look(slices, { rows: 20, steps: maxSteps / 2 })),
  )
  const most = await mostBetweenTurns(Promise.all(scans))
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(25_000 + maxSteps)
})

// promise: expensive-filters
test('a cheap filter of another user is served beside 200 expensive ones, not behind them', async () => {
  const turns = new FilterTurns({ clock })
  let rows = 0
  const onRow = () => {
    rows += 1
  }
  const expensive = Array.from({ length: 200 }, () =>
    turns
      .ask({ actor: 'ada', filter }, (slices) => look(slices, { rows: 1_000, steps: maxSteps / 2, onRow }))
      .catch(() => undefined),
  )
  await until(() => rows > 10, { what: 'the expensive ones to be at work' })
  const before = rows
  await turns.ask({ actor: 'grace', filter }, (slices) => look(slices, { rows: 50, steps: maxSteps / 2 }))
  // Slice for slice, in turn: as many rows of the one as of the other.
  expect(rows - before).toBeLessThanOrEqual(60)
  expect(rows - before).toBeGreaterThanOrEqual(40)
  await Promise.all(expensive)
})

test('what one user cannot have at once waits, and beyond that is refused with the time to wait', async () => {
  const turns = new FilterTurns({ clock })
  const { scansPerActor, waitingPerActor } = filterLimits
  let release: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let begun = 0
  const ask = (actor: string) =>
    turns.ask({ actor, filter }, async () => {
      begun += 1
      await held
    })
  const asked = Array.from({ length: scansPerActor + waitingPerActor }, () => ask('ada'))
  await until(() => begun === scansPerActor, { what: 'as many as may to begin' })
  const refused = await ask('ada').catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(ApiError)
  expect(refused).toMatchObject({ code: 'filters-busy', status: 429, headers: { 'Retry-After': '2' } })
  const other = ask('grace')
  await until(() => begun === scansPerActor + 1, { what: 'somebody else to begin' })
  expect(await turns.ask({ actor: 'ada', filter: undefined }, () => Promise.resolve('no filter'))).toBe(
    'no filter',
  )
  release()
  await Promise.all([...asked, other])
  expect(begun).toBe(scansPerActor + waitingPerActor + 1)
})

test('who waits for too long is refused, and keeps no place', async () => {
  const turns = new FilterTurns({
    clock,
    limits: { ...filterLimits, scansPerActor: 1, waitingPerActor: 1, waitMs: 5 },
  })
  let release: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const first = turns.ask({ actor: 'ada', filter }, () => held)
  for (const _again of [1, 2, 3])
    await expect(turns.ask({ actor: 'ada', filter }, () => held)).rejects.toMatchObject({
      code: 'filters-busy',
    })
  release()
  await first
  expect(await turns.ask({ actor: 'ada', filter }, () => Promise.resolve('served'))).toBe('served')
})

test('a streamed answer waits for its turn and is never refused one', async () => {
  const turns = new FilterTurns({
    clock,
    limits: { ...filterLimits, scansPerActor: 1, waitingPerActor: 0, waitMs: 1 },
  })
  let release: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const first = turns.ask({ actor: 'ada', filter }, () => held)
  const streamed = turns.whenFree('ada', () => Promise.resolve('page'))
  await expect(turns.ask({ actor: 'ada', filter }, () => held)).rejects.toMatchObject({
    code: 'filters-busy',
  })
  release()
  expect(await streamed).toBe('page')
  await first
})

test('one that fails gives its place back', async () => {
  const turns = new FilterTurns({ clock, limits: { ...filterLimits, scansPerActor: 1, waitingPerActor: 0 } })
  for (const _again of [1, 2, 3])
    await expect(turns.ask({ actor: 'ada', filter }, () => Promise.reject(new Error('no')))).rejects.toThrow(
      'no',
    )
})
