import { randomBytes } from 'node:crypto'
import { BlockList } from 'node:net'
import { type Db, openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { ensureAdminToken } from '../../../src/api/access/tokens.ts'
import { createApi } from '../../../src/api/app.ts'
import { FilterTurns } from '../../../src/api/http/filter-turns.ts'
import { SignIns } from '../../../src/api/http/sign-ins.ts'
import { Streams } from '../../../src/api/http/streams.ts'
import { apiLimits } from '../../../src/api/wire/api-limits.ts'
import { systemClock } from '../../../src/clock.ts'
import { createLog } from '../../../src/process/log.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { say, saySection, sayTable } from '../report.ts'
import { median } from '../samples.ts'
import { makeInstances } from './made-instances.ts'
import type { InventoryBench } from './suite.ts'

const questions: readonly { readonly title: string; readonly path: string }[] = [
  { title: 'count, no filter', path: '/v1/instances/:count' },
  {
    title: 'count, filter over all',
    path: `/v1/instances/:count?filter=${encodeURIComponent('cpus >= 4 && disks.exists(d, d.capacity > 50000000000) && location.startsWith("/Paris")')}`,
  },
  {
    title: 'first page of a rare match',
    path: `/v1/instances?limit=50&filter=${encodeURIComponent('name == "machine-99999"')}`,
  },
  { title: 'assessment', path: '/v1/assessment' },
  { title: 'assessment as CSV', path: '/v1/assessment?format=csv' },
]

/** A whole fleet looked at through the API: filters, counts, the assessment. Pages are followed to the end. */
export const runFleet = async ({ options, postgres }: InventoryBench): Promise<void> => {
  const instances = options.quick ? 1_000 : 100_000
  saySection(`${instances} instances, looked at through the API`)
  const url = await postgres.createDatabase('inventory_fleet')
  await migrateDb(url)
  const db = openDb({ url, max: 6, applicationName: 'drover-bench' })
  const began = performance.now()
  await makeInstances(db, instances)
  say(`synced, judged and analysed in ${((performance.now() - began) / 1_000).toFixed(1)} s`)
  const ask = await openApi(db)
  const rows: string[][] = [
    ['median', 'seconds', 'our CPU seconds', 'requests', 'kilobytes', 'peak MiB so far'],
  ]
  for (const { title, path } of questions) {
    const samples: { ms: number; cpuMs: number; requests: number; bytes: number }[] = []
    for (let at = 0; at < Math.max(3, options.rounds); at += 1) samples.push(await askAll(ask, path))
    rows.push([
      title,
      (median(samples.map(({ ms }) => ms)) / 1_000).toFixed(2),
      (median(samples.map(({ cpuMs }) => cpuMs)) / 1_000).toFixed(2),
      String(samples[0]?.requests),
      ((samples[0]?.bytes ?? 0) / 1_000).toFixed(0),
      (process.resourceUsage().maxRSS / 1_024).toFixed(0),
    ])
  }
  sayTable(rows)
  say('The design sets no bar for these: they are printed to be compared from version to version.')
  await db.end({ timeout: 5 })
}

type Ask = (path: string) => Promise<Response>

const openApi = async (db: Db): Promise<Ask> => {
  const { token } = await ensureAdminToken(db, undefined)
  const limits = { ...apiLimits, requestsBurst: 1_000_000 }
  const parts = { db, clock: systemClock, log: createLog({ role: 'bench', level: 'silent' }), limits }
  const app = createApi({
    ...parts,
    sealer: createSealer(randomBytes(32).toString('hex')),
    leaseMs: 15_000,
    eventsKeptDaysMin: 30,
    host: '127.0.0.1',
    bell: undefined,
    events: { subscribe: () => () => {} },
    front: { publicUrl: undefined, trustedProxies: new BlockList() },
    streams: new Streams(parts),
    filters: new FilterTurns({ clock: systemClock }),
    signIns: new SignIns(parts),
  })
  const peer = { incoming: { socket: { remoteAddress: '127.0.0.1' } } }
  const headers = { host: '127.0.0.1', authorization: `Bearer ${token}` }
  return async (path) => app.request(path, { headers }, peer)
}

/** Follows `next_cursor` until the question is answered for the whole fleet. */
const askAll = async (ask: Ask, path: string) => {
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  let requests = 0
  let bytes = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    const joint: string = path.includes('?') ? '&' : '?'
    const answer: Response = await ask(
      cursor === '' ? path : `${path}${joint}cursor=${encodeURIComponent(cursor)}`,
    )
    const text: string = await answer.text()
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text.slice(0, 300)}`)
    requests += 1
    bytes += text.length
    cursor = nextOf(answer, text)
  }
  const { user, system } = process.cpuUsage(cpuBefore)
  return { ms: performance.now() - began, cpuMs: (user + system) / 1_000, requests, bytes }
}

const nextOf = (answer: Response, text: string): string | null => {
  if (!answer.headers.get('content-type')?.includes('json')) return null
  const { next_cursor: next, items } = JSON.parse(text) as { next_cursor?: string | null; items?: unknown[] }
  return items !== undefined && items.length > 0 ? null : (next ?? null)
}
