import { randomBytes } from 'node:crypto'
import { type Db, openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { systemClock } from '../../../src/clock.ts'
import { syncSite } from '../../../src/inventory/sync/sync-site.ts'
import { startLab } from '../../../src/lab/lab.ts'
import { enqueue } from '../../../src/ledger/jobs/enqueue.ts'
import { nudge } from '../../../src/ledger/jobs/nudge.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { Platforms } from '../../../workers/platforms.ts'
import { addOne, contextOf, mustClaim } from '../../support/ledger.ts'
import { cpuMsOf } from '../cpu-time.ts'
import { addSite } from '../made-site.ts'
import { say, saySection, sayTable } from '../report.ts'
import { onClose } from '../resources.ts'
import { startRole } from '../roles.ts'
import { percentile } from '../samples.ts'
import { sayStatements, takeStatements } from '../statements.ts'
import { makeStartedBatch } from './made-batch.ts'
import type { BatchBench } from './suite.ts'

const batch = 'wave'

/** Entries through the whole journey on a lab: from the start of their batch to their certificates. */
export const runEntryWork = async (bench: BatchBench): Promise<void> => {
  const sizes = sizesOf(bench)
  const rows: string[][] = [
    [
      'entries',
      'finished',
      'seconds',
      'entries/min',
      'p50 delay ms',
      'p99 delay ms',
      'CPU s: Postgres',
      'ours',
      'lab',
    ],
  ]
  for (const size of sizes) {
    saySection(`${size} entries through the whole journey, the lab's own data in the same Postgres`)
    rows.push(await runOne(bench, size))
  }
  sayTable(rows)
  if (bench.options.statements) sayStatements()
  say('delay: from the end of a job of an entry to the enqueue of its next one')
}

/** `BENCH_JOURNEYS=500,2000,8000` shows how it grows. */
const sizesOf = ({ options }: BatchBench): readonly number[] => {
  const given = process.env.BENCH_JOURNEYS
  if (given !== undefined) return given.split(',').map(Number)
  return [options.quick ? 200 : 2_000]
}

const runOne = async ({ options, postgres }: BatchBench, size: number): Promise<string[]> => {
  const url = await postgres.createDatabase(`journeys_${size}`)
  const labUrl = await postgres.createDatabase(`journeys_lab_${size}`)
  await Promise.all([migrateDb(url), migrateDb(labUrl)])
  const lab = await startLab({ databaseUrl: labUrl, world: 'large', machines: size, pace: 0 })
  const stopLab = onClose(() => lab.stop())
  const db = openDb({ url, max: 4, applicationName: 'drover-bench' })
  const secretKey = randomBytes(32).toString('hex')
  const endpoint = (site: string) => `http://127.0.0.1:${lab.port}/sites/${site}`
  await addSite(db, {
    role: 'source',
    name: 'vc',
    endpoint: endpoint('vcenter'),
    password: lab.password,
    secretKey,
  })
  await addSite(db, {
    role: 'target',
    name: 'cloud',
    endpoint: endpoint('cloud'),
    password: lab.password,
    secretKey,
  })
  await readSource(db, secretKey)
  await db`analyze`
  const given = { url, secretKey, leaseMs: options.leaseMs }
  const conductor = await startRole('conductor', given)
  const workers = await Promise.all(Array.from({ length: options.workers }, () => startRole('worker', given)))
  const pids = [conductor, ...workers].map(({ pid }) => pid)
  const cpu = () => ({
    postgres: cpuMsOf(postgres.pid) ?? 0,
    ours: pids.reduce((sum, pid) => sum + (cpuMsOf(pid) ?? 0), 0),
    lab: process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000,
  })
  const before = cpu()
  const began = performance.now()
  await start(db)
  const finished = await untilFinished(db, size)
  const tookMs = performance.now() - began
  const after = cpu()
  const delays = await delaysOf(db)
  await Promise.all([conductor, ...workers].map((role) => role.stop()))
  await stopLab()
  await db.end({ timeout: 5 })
  if (options.statements)
    for (const [database, whose] of [
      [`journeys_${size}`, 'Drover'],
      [`journeys_lab_${size}`, 'the lab'],
    ] as const)
      await takeStatements(postgres, database, `${whose}, ${size} entries`)
  await postgres.dropDatabase(`journeys_${size}`)
  await postgres.dropDatabase(`journeys_lab_${size}`)
  const seconds = (ms: number) => (ms / 1_000).toFixed(1)
  return [
    String(size),
    String(finished),
    seconds(tookMs),
    ((finished * 60_000) / tookMs).toFixed(1),
    percentile(delays, 0.5).toFixed(0),
    percentile(delays, 0.99).toFixed(0),
    seconds(after.postgres - before.postgres),
    seconds(after.ours - before.ours),
    seconds(after.lab - before.lab),
  ]
}

const readSource = async (db: Db, secretKey: string): Promise<void> => {
  const sealer = createSealer(secretKey)
  const platforms = new Platforms({ sealer, caller: 'drover/bench' })
  const id = await addOne(db, { subject: { type: 'source', id: 'vc' } })
  const turn = contextOf(db, await mustClaim(db, id, { leaseMs: 3_600_000 }), platforms.use.bind(platforms))
  await syncSite(turn, sealer, { role: 'source', name: 'vc', mode: 'full', force: false })
  await platforms.close()
}

const start = async (db: Db): Promise<void> => {
  await makeStartedBatch(db, { name: batch, target: 'cloud', pool: 'ceph', include: 'true', scripted: true })
  await db.begin((tx) =>
    enqueue(tx, [
      {
        kind: 'start-batch',
        payload: { batch, purpose: 'start', version: 1 },
        subject: { type: 'batch', id: batch },
        createdBy: 'bench',
      },
    ]),
  )
  nudge(db)
}

const lookMs = 2_000
/** Without one more entry for so long, the rest will not come. */
const patienceMs = 180_000

const untilFinished = async (db: Db, size: number): Promise<number> => {
  let finished = 0
  let last = performance.now()
  while (performance.now() - last < patienceMs) {
    const states = await db<{ state: string; entries: number }[]>`
      select state, count(*)::int as entries from entry group by state`
    const now = states.find(({ state }) => state === 'finished')?.entries ?? 0
    if (now > finished) last = performance.now()
    finished = now
    if (finished === size) return finished
    await systemClock.sleep(lookMs)
  }
  const rest = await db<{ state: string; reason: string; entries: number }[]>`
    select state, reason, count(*)::int as entries from entry where state <> 'finished' group by 1, 2`
  say(`given up on: ${JSON.stringify(rest)}`)
  return finished
}

const delaysOf = async (db: Db): Promise<number[]> => {
  const rows = await db<{ delay: number }[]>`
    select extract(epoch from created_at - ended)::float8 * 1000 as delay from (
      select j.created_at, lag(j.finished_at) over (partition by s.subject_id order by j.id) as ended
      from job j join job_search s on s.job_id = j.id where s.subject_type = 'entry') between_jobs
    where ended is not null`
  return rows.map(({ delay }) => delay)
}
