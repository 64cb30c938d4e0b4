import { expect, test } from 'vitest'
import type { OperationRow } from '../../../db/schema/operation.ts'
import type { OperationKind, OperationVariant } from '../../../src/domain/operation/kinds/kinds.ts'
import { operationVariants, variantText } from '../../../src/domain/operation/kinds/kinds.ts'
import { operationMatrix } from '../../../src/domain/operation/kinds/matrix.ts'
import { DroverError } from '../../../src/errors.ts'
import { tickOperations } from '../../../src/operation/upkeep/ticks.ts'
import { jobOf } from '../../support/ledger.ts'
import { createMovingWorld, type MovingMachine } from '../../support/moving.ts'
import { checkMachines, type PlatformLog, readLabLog } from '../../support/operated-machines.ts'
import { checkOperations, watchOperations } from '../../support/operation-invariants.ts'
import { strictLog } from '../../support/strict-log.ts'

const world = await createMovingWorld()
const { db, lab } = world
await watchOperations(db)
for (const slots of ['host-outbound-moves', 'host-inbound-moves', 'host-move-syncs', 'target-moves'])
  await world.limit(slots, 100)

/**
 * Written down by hand, older <- newer: how the machine ends, and what the newer one has the platform do. Of the older
 * one is there what it had begun before, and never a start.
 */
const table = `
start    <- stop     | off | nothing
start    <- stop!    | off | nothing
stop     <- stop!    | off | stop
stop     <- restart! | on  | restart
restart  <- stop!    | off | stop
restart  <- restart! | on  | restart
migrate  <- stop     | off | shutdown
migrate  <- stop!    | off | stop
migrate  <- restart  | on  | shutdown start
migrate  <- restart! | on  | restart
migrate! <- stop     | off | shutdown
migrate! <- stop!    | off | stop
migrate! <- restart  | on  | shutdown start
migrate! <- restart! | on  | restart
evict    <- stop     | off | shutdown
evict    <- stop!    | off | stop
evict    <- restart  | on  | shutdown start
evict    <- restart! | on  | restart
evict!   <- stop     | off | shutdown
evict!   <- stop!    | off | stop
evict!   <- restart  | on  | shutdown start
evict!   <- restart! | on  | restart
`

interface Row {
  readonly pair: string
  readonly older: OperationVariant
  readonly newer: OperationVariant
  readonly power: string
  readonly tasks: readonly string[]
}

const variantOf = (text: string): OperationVariant => ({
  kind: text.replace('!', '') as OperationKind,
  force: text.endsWith('!'),
})

const rows: readonly Row[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [pair = '', power = '', tasks = ''] = line.split('|').map((cell) => cell.trim())
    const [older = '', newer = ''] = pair.split('<-').map((cell) => cell.trim())
    return {
      ...{ pair: `${older} <- ${newer}`, older: variantOf(older), newer: variantOf(newer), power },
      tasks: tasks === 'nothing' ? [] : tasks.split(' '),
    }
  })

/** What one that is under way has begun: its host has no room, its guest does not hear, its memory is being copied. */
const begunBy: Readonly<Partial<Record<OperationKind, readonly string[]>>> = {
  start: [],
  stop: ['shutdown'],
  restart: ['shutdown'],
  migrate: ['move'],
  evict: ['move'],
}

/** Longer than anything of the lab takes. */
const endlessMs = 3_600_000

interface Meeting extends Row {
  readonly machine: MovingMachine
  readonly first: OperationRow
  readonly second: OperationRow
}

const ask = (machine: MovingMachine, { kind, force }: OperationVariant, more: object = {}) =>
  world.ask(machine.id, kind, { force, ...more })

/** For each a machine that the older one of its pair wants to find, and on which that comes to no end by itself. */
const machinesFor = async (olders: readonly OperationVariant[]): Promise<MovingMachine[]> => {
  const machines = await world.allRunning(olders.map(() => ({ moveMs: endlessMs })))
  await Promise.all(
    machines.map(async (machine, at) => {
      const kind = olders[at]?.kind
      if (kind === 'stop' || kind === 'restart') await world.edit(machine, { shutdown: 'hangs' })
      if (kind !== 'start') return
      await world.done(machine.id, 'stop', { force: true })
      const full = { kind: 'error', code: 'platform-no-capacity', failure: 'refused', call: 'start' }
      await world.fault({ ...full, machine: machine.ref })
    }),
  )
  return machines
}

const whyUnderWay: Readonly<Partial<Record<OperationKind, string>>> = {
  ...{ start: 'host-full', stop: 'waiting-for-guest', restart: 'waiting-for-guest' },
  ...{ migrate: 'move-preparing', evict: 'move-preparing' },
}

const begin = async (older: OperationVariant, asked: OperationRow): Promise<void> => {
  const now = await world.until(asked, whyUnderWay[older.kind] ?? '')
  expect([variantText(older), now.state]).toEqual([variantText(older), 'running'])
}

/** What the platform has taken on for an operation, in order; what it refused is not there. */
const tasksIn = ({ tasks }: PlatformLog, { jobId }: OperationRow): string[] =>
  tasks.filter(({ name }) => jobId !== null && name.startsWith(jobId)).map(({ kind }) => kind)

const tasksOf = async (operation: OperationRow): Promise<string[]> =>
  tasksIn(await readLabLog(lab, 'cloud'), operation)

const finishJob = async ({ id }: OperationRow): Promise<void> => {
  const { jobId, settledAt } = await world.operation(id)
  if (settledAt === null) await world.worker.finish(jobId ?? '')
}

const expectEnd = async (log: PlatformLog, meeting: Meeting, begun: readonly string[]): Promise<void> => {
  const { pair, machine, first, second, power, tasks } = meeting
  const [older, newer] = await Promise.all([world.operation(first.id), world.operation(second.id)])
  expect([pair, older.state, older.supersededBy, older.settledAt]).toEqual([
    ...[pair, 'superseded', second.id, expect.any(Date)],
  ])
  expect([pair, newer.state, newer.supersededBy, newer.settledAt]).toEqual([
    ...[pair, 'completed', null, expect.any(Date)],
  ])
  expect([pair, tasksIn(log, first), tasksIn(log, second)]).toEqual([pair, begun, tasks])
  const is = await world.power(machine.ref)
  expect([pair, is.state, is.host]).toEqual([pair, power, 'node-1'])
  expect(await world.row(machine.id)).toMatchObject({ power, host: 'node-1', savedState: null })
}

const expectNothingLeft = async (): Promise<void> => {
  expect(await checkOperations(db, { atRest: true })).toEqual([])
  expect(await checkMachines(db, await readLabLog(lab, 'cloud'))).toEqual([])
}

test('the table has each of the 22 pairs in which a place is taken, and no other', () => {
  const taken = operationMatrix.filter(({ outcome }) => outcome === 'supersede')
  expect(rows.map(({ pair }) => pair).sort()).toEqual(
    taken.map(({ older, newer }) => `${variantText(older)} <- ${variantText(newer)}`).sort(),
  )
})

test.each([
  ['before it has begun', false],
  ['while it is under way', true],
])(
  'each of the 22 pairs comes to its end when the older one gives way %s, and nothing is left',
  async (_when, underWay) => {
    await world.pace(0)
    const machines = await machinesFor(rows.map(({ older }) => older))
    // A move that the clock of the test does not end.
    if (underWay) await world.pace(1)
    const meetings = await Promise.all(
      rows.map(async (row, at): Promise<Meeting> => {
        const machine = machines[at] as MovingMachine
        const first = await ask(machine, row.older)
        if (underWay) await begin(row.older, first)
        const second = await ask(machine, row.newer)
        // Before the older one has let go the newer one does nothing.
        if (underWay)
          expect(await world.turn(second)).toMatchObject({ state: 'pending', reason: 'awaiting-older' })
        expect(await tasksOf(second)).toEqual([])
        return { ...row, machine, first, second }
      }),
    )
    await world.clearFaults()
    await world.pace(0)
    await Promise.all(meetings.map(({ first }) => finishJob(first)))
    await tickOperations(db, strictLog)
    await Promise.all(meetings.map(({ second }) => finishJob(second)))
    await tickOperations(db, strictLog)
    const log = await readLabLog(lab, 'cloud')
    for (const meeting of meetings)
      await expectEnd(log, meeting, underWay ? (begunBy[meeting.older.kind] ?? []) : [])
    await expectNothingLeft()
  },
)

const paramsOf: Readonly<Partial<Record<OperationKind, (machine: MovingMachine) => object>>> = {
  restore: () => ({ snapshot: 'before' }),
  clone: ({ ref }) => ({ name: `copy-of-${ref}` }),
}

const askFor = (machine: MovingMachine, variant: OperationVariant) =>
  ask(machine, variant, { params: paramsOf[variant.kind]?.(machine) ?? {} })

/** Brings a machine to where the older one wants to find it. */
const makeFit = async ({ kind }: OperationVariant, { id }: MovingMachine): Promise<void> => {
  if (kind === 'start') await world.done(id, 'stop', { force: true })
  if (kind === 'wake') await world.done(id, 'hibernate')
  if (kind === 'restore') await world.done(id, 'snapshot', { params: { name: 'before' } })
}

// promise: matrix
test('whatever may not take its place leaves the one under way untouched, and that one is done', async () => {
  await world.pace(0)
  const machines = await world.allRunning(operationVariants.map(() => ({})))
  await Promise.all(
    machines.map((machine, at) => makeFit(operationVariants[at] as OperationVariant, machine)),
  )
  await world.pace(10_000)
  const olders = await Promise.all(
    operationVariants.map(async (older, at) => {
      const machine = machines[at] as MovingMachine
      const first = await askFor(machine, older)
      for (let turns = 0; turns < 20 && (await tasksOf(first)).length === 0; turns += 1)
        await world.turn(first)
      expect([variantText(older), (await world.operation(first.id)).state]).toEqual([
        ...[variantText(older), 'running'],
      ])
      for (const { newer } of operationMatrix.filter(
        (pair) => variantText(pair.older) === variantText(older) && pair.outcome === 'refuse',
      )) {
        const refused = await askFor(machine, newer).catch((error: unknown) => error)
        const pair = `${variantText(older)} <- ${variantText(newer)}`
        expect(refused, pair).toBeInstanceOf(DroverError)
        expect(refused, pair).toMatchObject({ code: 'blocked', detail: { blocker: first.id } })
      }
      return { older, machine, first, begun: await tasksOf(first) }
    }),
  )
  await world.pace(0)
  await lab.pass(20_000 * endlessMs)
  await Promise.all(olders.map(({ first }) => finishJob(first)))
  await tickOperations(db, strictLog)
  const log = await readLabLog(lab, 'cloud')
  for (const { older, machine, first, begun } of olders) {
    const { state, supersededBy, settledAt } = await world.operation(first.id)
    const { cancelRequestedAt } = await jobOf(db, first.jobId ?? '')
    expect([variantText(older), state, supersededBy, settledAt, cancelRequestedAt]).toEqual([
      ...[variantText(older), 'completed', null, expect.any(Date), null],
    ])
    const done = tasksIn(log, first)
    // What it had begun was not begun anew.
    expect([variantText(older), done.slice(0, begun.length)]).toEqual([variantText(older), begun])
    expect([variantText(older), new Set(done).size]).toEqual([variantText(older), done.length])
    const [after] = await db`
      select count(*)::int as n from operation where machine_id = ${machine.id}::uuid and id > ${first.id}::uuid`
    expect(after?.n).toBe(0)
  }
  await expectNothingLeft()
})
