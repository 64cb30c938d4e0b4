import { expect, test } from 'vitest'
import { type Db, openDb } from '../../../db/client.ts'
import { dropBellSchema } from '../../support/bells.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createLab } from '../../support/lab.ts'
import { createOperatedWorld, type OperatedWorld } from '../../support/operated-world.ts'
import { startOwnPostgres } from '../../support/postgres.ts'
import { startRedis } from '../../support/redis.ts'
import { expectAlive, startRoles } from '../../support/roles.ts'
import { migrateAsOwner } from '../../support/shared-postgres.ts'
import { until } from '../../support/wait.ts'

/** One after another of each machine: some take the place of the one before, some wait behind it, some are refused. */
const resumptions = [
  { kind: 'restart', force: false, onConflict: 'supersede' },
  { kind: 'evict', force: false, onConflict: 'queue', cause: 'evacuation' },
  { kind: 'stop', force: true, onConflict: 'supersede' },
  { kind: 'start', force: false, onConflict: 'queue' },
  { kind: 'migrate', force: false, onConflict: 'queue' },
  { kind: 'stop', force: false, onConflict: 'reject' },
  { kind: 'restart', force: true, onConflict: 'queue' },
] as const
/** Moves stand in line for the few that a host takes part in at once. */
const movedEvery = 10

/** Everybody asks for the next thing of every machine; a Postgres that is away is asked again. */
const askAll = async (world: OperatedWorld, desired: (typeof resumptions)[number]): Promise<void> => {
  const moves = desired.kind === 'evict' || desired.kind === 'migrate'
  const left = world.machines.filter((_, at) => !moves || at % movedEvery === 0)
  const person = async () => {
    for (let machine = left.shift(); machine; machine = left.shift()) {
      const of = machine
      await until(async () => Boolean(await world.ask(of, desired)), {
        what: `an answer to ${desired.kind} of ${of.ref}`,
        withinMs: 60_000,
        everyMs: 250,
      })
    }
  }
  await Promise.all([person(), person(), person(), person()])
}

/** Nobody who runs may make it again: the owner does, as after a restore that left it out. */
const loseBellSchema = async (db: Db, url: string): Promise<void> => {
  await dropBellSchema(db)
  await migrateAsOwner(url)
}

const completed = async ({ db }: OperatedWorld): Promise<number> => {
  const [row] = await db<{ done: number }[]>`
    select count(*)::int as done from operation where state = 'completed'`
  return row?.done ?? 0
}

// promise: last-wish
test.each([
  ['postgres', 60],
  ['redis', 200],
] as const)(
  'on the %s bell, %i machines whose people change their minds survive a Postgres and a bell that come and go',
  async (bell, machines) => {
    const postgres = await startOwnPostgres()
    const redis = bell === 'redis' ? await startRedis({ persistence: 'none' }) : undefined
    const db = openDb({ url: postgres.url, max: 6, applicationName: 'drover-test' })
    atEnd(() => db.end({ timeout: 1 }))
    const lab = await createLab({ world: 'large', machines, pace: 0.2 })
    const world = await createOperatedWorld(db, lab, { oneCluster: true })
    const { conductors, workers } = await startRoles({
      DATABASE_URL: postgres.url,
      ...(redis ? { REDIS_URL: redis.url } : {}),
      DROVER_SECRET_KEY: '5e'.repeat(32),
      DROVER_LEASE_MS: '10000',
    })
    for (const [at, desired] of resumptions.entries()) {
      // A connection of the time before the restart may end under the first query after it.
      const before = await until(async () => ({ done: await completed(world) }), {
        what: 'an answer of Postgres',
      })
      await askAll(world, desired)
      await until(async () => (await completed(world)) > before.done, {
        what: 'some to be done',
        withinMs: 120_000,
      })
      if (at === 2) await postgres.restart()
      if (at === 5) await (redis ? redis.send('FLUSHALL') : loseBellSchema(db, postgres.url))
    }
    await world.settled(150_000)
    await world.expectWhole()
    expectAlive(...conductors, ...workers)
    const ends = await db<{ state: string; times: number }[]>`
      select state, count(*)::int as times from operation group by state order by state`
    console.info(`${bell}: ${ends.map(({ state, times }) => `${times} ${state}`).join(', ')}`)
    expect(ends.map(({ state }) => state)).toEqual(expect.arrayContaining(['completed', 'superseded']))
  },
)
