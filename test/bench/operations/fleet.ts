import type { Db } from '../../../db/client.ts'
import { say, sayBar, saySection, sayTable, shortNumber } from '../report.ts'
import { median, percentile, rotated } from '../samples.ts'
import { sayStatements, takeStatements } from '../statements.ts'
import { type Asked, askAll, type Outcome } from './clients.ts'
import { script } from './script.ts'
import type { OperationsBench } from './suite.ts'
import { clientsMost, namesOf, openWorld, type World } from './world.ts'

interface Sample extends Asked {
  readonly machines: number
  readonly asked: number
  readonly states: Readonly<Record<string, number>>
  readonly cpuMs: ReturnType<World['cpu']>
}

/** Three of ten are meant to; where fewer do, it is another load that was measured. */
const leastConflicting = 0.25

const parts = ['postgres', 'api', 'workers', 'conductor', 'lab'] as const

/**
 * Operations through the API, ten of each machine, three of which meet one that is open, until all have settled; on
 * a fleet and on a quarter of it in turn. `BENCH_MACHINES=200` makes it smaller.
 */
export const runFleet = async (bench: OperationsBench): Promise<void> => {
  const { options, postgres } = bench
  const machines = Number(process.env.BENCH_MACHINES ?? (options.quick ? 40 : 1_000))
  const sizes = [machines, Math.ceil(machines / 4)]
  const rounds = options.quick ? 1 : Math.min(options.rounds, 3)
  saySection(
    `${machines * script.length} operations on ${machines} machines, ${clientsMost} clients of the API`,
  )
  const meeting = script.filter(({ meets }) => meets !== undefined).length
  say(
    `${meeting} of ${script.length} meet one that is open; then the same on a quarter of the machines, ${rounds} rounds`,
  )
  const samples: Sample[] = []
  for (let round = 0; round < rounds; round += 1)
    for (const size of rotated(sizes, round)) {
      const name = `operations_${round}_${size}`
      const world = await openWorld(bench, { name, machines: size, labMachines: Math.ceil(machines * 1.2) })
      const sample = await measure(world)
      await world.close()
      for (const [at, database] of namesOf(name).entries()) {
        const whose = at === 0 ? 'Drover' : 'the labs'
        if (options.statements) await takeStatements(postgres, database, `${whose}, ${size} machines`)
        await postgres.dropDatabase(database)
      }
      samples.push(sample)
      say(`round ${round + 1}, ${size} machines: ${JSON.stringify(sample.states)}, ${answersText(sample)}`)
    }
  sayTable([heading, ...samples.map(rowOf)])
  if (options.statements) sayStatements()
  sayBars(samples, sizes)
}

const measure = async (world: World): Promise<Sample> => {
  const before = world.cpu()
  const asked = await askAll(world)
  const after = world.cpu()
  const cpuMs = Object.fromEntries(parts.map((part) => [part, after[part] - before[part]])) as Sample['cpuMs']
  const states = await check(world.db, asked)
  return { ...asked, states, cpuMs, machines: world.machines.length, asked: asked.latencies.length }
}

const sumOf = (counts: Asked['counts'], outcomes: readonly Outcome[]): number =>
  outcomes.reduce((sum, outcome) => sum + counts[outcome], 0)

const admittedOf = ({ counts }: Asked): number => sumOf(counts, ['admitted', 'superseded', 'queued'])
const refusedOf = ({ counts }: Asked): number => sumOf(counts, ['blocked', 'refused'])
const conflicting = ({ counts, latencies }: Asked): number =>
  sumOf(counts, ['superseded', 'queued', 'blocked']) / latencies.length

const answersText = (asked: Asked): string => {
  const { superseded, queued, blocked } = asked.counts
  return (
    `conflicting ${(conflicting(asked) * 100).toFixed(1)} % (${superseded} superseded another, ${queued} queued, ` +
    `${blocked} refused because of another)`
  )
}

/** A number counts only when the work was done, and done right. */
const check = async (db: Db, asked: Asked): Promise<Sample['states']> => {
  if (conflicting(asked) < leastConflicting)
    throw new Error(`Too few met another one, so it was not what is to be measured: ${answersText(asked)}.`)
  const [admitted, refused] = [admittedOf(asked), refusedOf(asked)]
  const rows = await db<{ state: string; operations: number }[]>`
    select state, count(*)::int as operations from operation group by state`
  const states = Object.fromEntries(rows.map(({ state, operations }) => [state, operations]))
  const [machines] = await db<{ off: number }[]>`
    select (count(*) filter (where power <> 'on'))::int as off from machine`
  const made = rows.reduce((sum, { operations }) => sum + operations, 0)
  if (
    made !== admitted ||
    admitted + refused !== asked.latencies.length ||
    states.failed ||
    machines?.off !== 0
  ) {
    const why = await db`select reason, message, count(*)::int as operations from operation
      where state = 'failed' group by 1, 2 order by 3 desc limit 5`
    throw new Error(`It did not go right: ${JSON.stringify({ states, admitted, refused, machines, why })}`)
  }
  return states
}

const heading = [
  ...[
    'machines',
    'asked',
    'admitted',
    'refused',
    'seconds',
    'asked/s',
    'admitted/s',
    'POST p50 ms',
    'p99 ms',
  ],
  ...['CPU ms an operation: Postgres', ...parts.slice(1), 'all'],
]

const cpuOf = ({ cpuMs, asked }: Sample): number => parts.reduce((sum, part) => sum + cpuMs[part], 0) / asked

const rowOf = (sample: Sample): string[] => [
  String(sample.machines),
  String(sample.asked),
  String(admittedOf(sample)),
  String(refusedOf(sample)),
  (sample.tookMs / 1_000).toFixed(1),
  ((sample.asked * 1_000) / sample.tookMs).toFixed(1),
  ((admittedOf(sample) * 1_000) / sample.tookMs).toFixed(1),
  percentile(sample.latencies, 0.5).toFixed(1),
  percentile(sample.latencies, 0.99).toFixed(1),
  ...parts.map((part) => (sample.cpuMs[part] / sample.asked).toFixed(2)),
  cpuOf(sample).toFixed(2),
]

const sayBars = (samples: readonly Sample[], [many = 0, few = 0]: readonly number[]): void => {
  const of = (size: number, value: (sample: Sample) => number) =>
    median(samples.filter(({ machines }) => machines === size).map(value))
  const perOperation = ({ tookMs, asked }: Sample) => tookMs / asked
  const p99 = ({ latencies }: Sample) => percentile(latencies, 0.99)
  const ratio = of(many, perOperation) / of(few, perOperation)
  say(
    `processor time an operation at ${many} machines: ${shortNumber(of(many, cpuOf) / of(few, cpuOf))}x that at ${few}`,
  )
  say('operations-rate: all that were asked, refusals included, until the last of them had settled')
  sayBar({
    name: 'operations-rate',
    measured: 1_000 / of(many, perOperation),
    bar: 50,
    atLeast: true,
    unit: '/s',
  })
  sayBar({ name: 'operations-admission-p99', measured: of(many, p99), bar: 250, atLeast: false, unit: 'ms' })
  sayBar({ name: 'operations-linear', measured: ratio, bar: 1.25, atLeast: false, unit: 'x' })
}
