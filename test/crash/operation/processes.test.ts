import { expect, test } from 'vitest'
import type { CrashPoint } from '../../../src/crash-point.ts'
import { onEachBell } from '../../support/bells.ts'
import { createLab } from '../../support/lab.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import {
  createOperatedWorld,
  type OperatedMachine,
  type OperatedWorld,
} from '../../support/operated-world.ts'
import type { TestProcess } from '../../support/processes.ts'
import { expectAlive, startConductor, startWorker } from '../../support/roles.ts'
import { until } from '../../support/wait.ts'

/** Where a worker dies: before it may act, around the call, between the end of one and the beginning of the next. */
const killedAt = {
  postgres: ['operation-entered', 'after-intent', 'after-effect', 'before-undo', 'operation-ends'],
  redis: ['operation-begun', 'before-effect', 'after-undo', 'before-finish', 'after-finish'],
} as const satisfies Record<string, readonly CrashPoint[]>

/** Where a worker freezes, until somebody else has done its work or has undone it. */
const frozenAt = {
  postgres: ['before-effect', 'operation-entered', 'before-finish'],
  redis: ['after-effect', 'operation-begun', 'before-undo'],
} as const satisfies Record<string, readonly CrashPoint[]>

const asks = [
  ...(['start', 'stop', 'restart'] as const).map((kind) => ({ kind, force: false })),
  ...(['stop', 'restart', 'evict'] as const).map((kind) => ({ kind, force: true })),
  ...(['migrate', 'evict'] as const).map((kind) => ({ kind, force: false })),
  { kind: 'evict', force: false, cause: 'evacuation' },
] as const

interface Armed {
  readonly plan: string
  readonly process: TestProcess
}

/**
 * People who change their minds, until everybody has come to their point. On a slow machine they wait for the workers:
 * asked again before it has begun, an operation is superseded for ever and nobody comes any further.
 */
const askUntilAllCame = async (world: OperatedWorld, armed: readonly Armed[]): Promise<void> => {
  const missing = () => armed.filter(({ process }) => process.running && !process.isFrozen)
  let at = 0
  await until(
    async () => {
      const [row] = await world.db<{ open: number }[]>`
        select count(*)::int as open from operation where settled_at is null`
      const people = (row?.open ?? 0) < world.machines.length ? 3 : 0
      for (let person = 0; person < people; person += 1) {
        at += 1
        const machine = world.machines[(at * 7) % world.machines.length]
        const ask = asks[(at * 5 + Math.floor(at / 11)) % asks.length]
        if (machine && ask)
          await world.ask(machine, { ...ask, onConflict: at % 4 === 0 ? 'queue' : 'supersede' })
      }
      return missing().length === 0
    },
    { what: 'everybody to come to their point', withinMs: 240_000, everyMs: 40 },
  ).catch((error: Error) => {
    throw new Error(
      `${error.message} Not yet: ${missing()
        .map(({ plan }) => plan)
        .join(', ')}`,
    )
  })
}

/** They say so themselves, and then have done whatever they wanted to. */
const wake = async (zombies: readonly TestProcess[]): Promise<void> => {
  for (const zombie of zombies) zombie.resume()
  for (const zombie of zombies)
    await until(() => zombie.lines.some((line) => line.includes('the outcome was refused')), {
      what: 'the zombie to notice that it is one',
      withinMs: 60_000,
    })
}

await onEachBell('operations meet while processes die and freeze', ({ kind, database, env }) => {
  // Nine workers at once: on a machine with much else to do that takes long, and is no failure.
  // promise: last-wish
  test('the last of each machine has its way, once, and whoever wakes up too late does nothing', {
    timeout: 480_000,
  }, async () => {
    const lab = await createLab({ world: 'large', machines: 24, pace: 0.5 })
    const world = await createOperatedWorld(database.db, lab, { oneCluster: true })
    const role = { ...env, DROVER_LEASE_MS: '3000' }
    const arm = async (plan: string, start: typeof startWorker): Promise<Armed> => ({
      plan,
      process: await start({ ...role, DROVER_CRASH_POINTS: plan }),
    })
    const mortal = await arm('kill:operation-tick', startConductor)
    const successor = mortal.process.exited.then(() => startConductor(role))
    // Somebody ends a job behind its operation's back: that is for a round of ticks to put right.
    const left = await world.mustAsk(world.machines[0] as OperatedMachine, { kind: 'restart' })
    await requestCancel(world.db, left.jobId ?? '', { by: 'test', reason: 'not wanted' })
    const armed = [
      mortal,
      ...(await Promise.all(killedAt[kind].map((point) => arm(`kill:${point}`, startWorker)))),
      ...(await Promise.all(frozenAt[kind].map((point) => arm(`stop:${point}`, startWorker)))),
    ]
    await askUntilAllCame(world, armed)
    const frozen = armed.flatMap(({ process }) => (process.running ? [process] : []))
    // Whatever the frozen ones are at has its place taken, where that can be.
    for (const machine of world.machines) await world.ask(machine, { kind: 'stop', force: true })
    const heir = await startWorker(role)
    await world.settled()
    await world.expectWhole()
    const done = await lab.database.db`select n from lab.task where not inner_work`
    await wake(frozen)
    await world.settled()
    expect(await lab.database.db`select n from lab.task where not inner_work`).toHaveLength(done.length)
    await world.expectWhole()
    expectAlive(await successor, heir, ...frozen)
    const superseded = await world.db`select from operation where state = 'superseded'`
    expect(superseded.length, 'the test is about nothing without').toBeGreaterThan(3)
    const moved = await lab.database.db`select from lab.task where kind = 'move'`
    expect(moved.length, 'the test is about nothing without').toBeGreaterThan(0)
  })
})
