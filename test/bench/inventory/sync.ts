import { randomBytes } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import { openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { sourceSettings } from '../../../src/domain/inventory/site-settings.ts'
import { say, sayBar, saySection, sayTable } from '../report.ts'
import { median } from '../samples.ts'
import { startByteCounter } from './byte-counter.ts'
import { type Reader, startReader } from './reading.ts'
import type { ReadingReport, ReadingTask } from './reading-program.ts'
import { connectionTo, startSimulator } from './simulator.ts'
import type { InventoryBench } from './suite.ts'

const editsPerDelta = 10
const source = 'bench'

interface Sample extends ReadingReport {
  readonly bytes: number
}

/** A sync of a simulated vCenter beside the same fetch parsed and thrown away, and a resync of a few changes. */
export const runSync = async ({ options, postgres }: InventoryBench): Promise<void> => {
  const machines = options.quick ? 300 : 10_000
  saySection(`${machines} machines of a simulated vCenter: ${options.rounds} rounds, interleaved`)
  const simulator = await startSimulator(machines)
  const counter = await startByteCounter(simulator.port)
  const base = {
    connection: connectionTo(simulator, counter.port),
    secretKey: randomBytes(32).toString('hex'),
    source,
    edits: editsPerDelta,
  }
  const samples: Record<ReadingTask['way'], Sample[]> = {
    parse: [],
    'sync-full': [],
    'sync-delta': [],
    edit: [],
  }
  const once = async (reader: Reader, way: ReadingTask['way'], databaseUrl: string): Promise<void> => {
    counter.reset()
    samples[way].push({ ...(await reader.read({ ...base, way, databaseUrl })), bytes: counter.received() })
  }
  for (let round = 1; round <= options.rounds; round += 1) {
    const url = await postgres.createDatabase(`inventory_${round}`)
    await migrateDb(url)
    await addSource(url, base.connection.endpoint)
    const alone = await startReader('alone', options.cpuProf)
    const worker = await startReader('worker', options.cpuProf)
    await once(alone, 'parse', url)
    await once(worker, 'sync-full', url)
    await once(alone, 'edit', url)
    await once(worker, 'sync-delta', url)
    await Promise.all([alone.stop(), worker.stop()])
    await checkRound(url, samples['sync-delta'].at(-1))
  }
  await simulator.stop()
  tell(samples)
}

const addSource = async (url: string, endpoint: string): Promise<void> => {
  const db = openDb({ url, max: 1, applicationName: 'drover-bench' })
  await db`
    insert into site (id, role, name, kind, endpoint, username, settings, connectivity, created_by)
    values (${uuidv7()}::uuid, 'source', ${source}, 'vsphere', ${endpoint}, 'bench',
      ${db.json(sourceSettings.parse({}) as never)}, 'ok', 'bench')`
  await db.end({ timeout: 5 })
}

/** A number counts only when the work was done. */
const checkRound = async (url: string, delta: Sample | undefined): Promise<void> => {
  const db = openDb({ url, max: 1, applicationName: 'drover-bench' })
  const [row] = await db<{ changed: number; all: number }[]>`
    select count(*) filter (where name like 'changed-%')::int as changed, count(*)::int as all
    from instance`
  await db.end({ timeout: 5 })
  if (row?.changed !== editsPerDelta || delta?.result.reading !== 'delta')
    throw new Error(`The delta is not right: ${JSON.stringify({ ...row, ...delta?.result })}`)
}

const tell = (samples: Record<ReadingTask['way'], Sample[]>): void => {
  const middle = (way: ReadingTask['way'], pick: (sample: Sample) => number) => median(samples[way].map(pick))
  const ways = ['parse', 'sync-full', 'sync-delta'] as const
  sayTable([
    ['median', 'seconds', 'our CPU seconds', 'bytes received', 'peak MiB'],
    ...ways.map((way) => [
      way,
      (middle(way, (sample) => sample.tookMs) / 1_000).toFixed(2),
      (middle(way, (sample) => sample.cpuMs) / 1_000).toFixed(2),
      String(Math.round(middle(way, (sample) => sample.bytes))),
      (middle(way, (sample) => sample.peakBytes) / 2 ** 20).toFixed(0),
    ]),
  ])
  say(`what a full sync said: ${JSON.stringify(samples['sync-full'].at(-1)?.result)}`)
  const paired = (other: ReadingTask['way'], way: ReadingTask['way'], pick: (sample: Sample) => number) =>
    median(samples[way].map((sample, at) => pick(sample) / pick(samples[other][at] ?? sample)))
  const bar = (name: string, measured: number, limit: number, unit: string) =>
    sayBar({ name, measured, bar: limit, atLeast: false, unit })
  bar(
    'sync-to-parse',
    paired('parse', 'sync-full', (sample) => sample.tookMs),
    2,
    'x',
  )
  bar('resync-bytes', paired('sync-full', 'sync-delta', (sample) => sample.bytes) * 100, 2, '%')
  bar('resync-cpu', paired('sync-full', 'sync-delta', (sample) => sample.cpuMs) * 100, 2, '%')
  bar('sync-memory', middle('sync-full', (sample) => sample.peakBytes) / 2 ** 20, 400, 'MiB')
}
