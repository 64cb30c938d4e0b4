import { randomBytes } from 'node:crypto'
import { openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { makeInstances } from '../inventory/made-instances.ts'
import { say, sayBar, saySection, sayTable } from '../report.ts'
import { startRole } from '../roles.ts'
import { percentile } from '../samples.ts'
import { attack, costliestAccepted } from './attack.ts'
import type { ApiBench } from './suite.ts'

const hostile = 200

interface Probe {
  readonly name: string
  readonly path: string
  readonly token: string | undefined
}

type Latencies = ReadonlyMap<string, readonly number[]>

/**
 * What others wait while one viewer sends 200 expensive filters at once, and sends each again when it is answered. The
 * wait without them is measured before. `BENCH_INSTANCES=20000` makes the fleet larger.
 */
export const runFilters = async ({ options, postgres }: ApiBench): Promise<void> => {
  const instances = Number(process.env.BENCH_INSTANCES ?? (options.quick ? 500 : 5_000))
  const seconds = options.quick ? 2 : 15
  saySection(`${hostile} expensive filters of one viewer at once, over ${instances} instances`)
  const url = await postgres.createDatabase('api_filters')
  await migrateDb(url)
  const db = openDb({ url, max: 4, applicationName: 'drover-bench' })
  await makeInstances(db, instances)
  await db.end({ timeout: 5 })
  const secret = () => `drover_${randomBytes(32).toString('base64url')}`
  const admin = secret()
  const secretKey = randomBytes(32).toString('hex')
  const api = await startRole('api', { url, secretKey, leaseMs: 15_000, adminToken: admin })
  const base = `http://127.0.0.1:${api.port}`
  const viewer = await makeToken(base, admin)
  const cheap = encodeURIComponent('name == "machine-77"')
  const probes: Probe[] = [
    { name: 'healthz', path: '/healthz', token: undefined },
    { name: 'another user, a page', path: '/v1/instances?limit=20', token: admin },
    { name: 'another user, a cheap filter', path: `/v1/instances?limit=20&filter=${cheap}`, token: admin },
  ]
  await measure(base, probes, 1)
  const idle = await measure(base, probes, options.quick ? 1 : 5)
  const accepted = await costliestAccepted((text) => answers(base, viewer, text))
  for (const [what, text] of [
    ['attack', attack],
    ['costliest', accepted],
  ] as const) {
    say(`${what}: a filter of ${text.length} characters`)
    const ended = new AbortController()
    const counts = new Map<number, number>()
    const attackers = Array.from({ length: hostile }, () =>
      hammer(base, { viewer, text, counts, signal: ended.signal }),
    )
    const busy = await measure(base, probes, seconds)
    ended.abort()
    await Promise.all(attackers)
    report(what, { idle, busy, counts })
  }
}

const makeToken = async (base: string, admin: string): Promise<string> => {
  const answer = await fetch(`${base}/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json', 'idempotency-key': 'v' },
    body: JSON.stringify({ name: 'viewer', role: 'viewer' }),
  })
  const { secret, token } = (await answer.json()) as { secret?: string; token?: string }
  const made = secret ?? token
  if (made === undefined) throw new Error(`No token was made: ${answer.status}.`)
  return made
}

const filterUrl = (base: string, text: string) =>
  `${base}/v1/instances?limit=50&filter=${encodeURIComponent(text)}`

const answers = async (base: string, token: string, text: string): Promise<boolean> => {
  const answer = await fetch(filterUrl(base, text), { headers: { authorization: `Bearer ${token}` } })
  await answer.text()
  return answer.status !== 422
}

/** One connection that asks again as soon as it is answered; refused ones take the time a client takes to read that. */
const hammer = async (
  base: string,
  asked: { viewer: string; text: string; counts: Map<number, number>; signal: AbortSignal },
): Promise<void> => {
  while (!asked.signal.aborted) {
    const headers = { authorization: `Bearer ${asked.viewer}` }
    const answer = await fetch(filterUrl(base, asked.text), { headers }).catch(() => undefined)
    await answer?.text().catch(() => '')
    const status = answer?.status ?? 0
    if (!asked.signal.aborted) asked.counts.set(status, (asked.counts.get(status) ?? 0) + 1)
    if (status === 429 || status === 422) await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

const measure = async (base: string, probes: readonly Probe[], seconds: number): Promise<Latencies> => {
  const until = performance.now() + seconds * 1_000
  const ask = async ({ name, path, token }: Probe): Promise<[string, number[]]> => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const samples: number[] = []
    do {
      const began = performance.now()
      await (await fetch(`${base}${path}`, { headers })).text()
      samples.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 10))
    } while (performance.now() < until)
    return [name, samples]
  }
  return new Map(await Promise.all(probes.map(ask)))
}

const report = (
  what: string,
  { idle, busy, counts }: { idle: Latencies; busy: Latencies; counts: ReadonlyMap<number, number> },
): void => {
  const at = (from: Latencies, name: string, part: number) => percentile(from.get(name) ?? [], part)
  const heading = ['ms', 'idle p50', 'idle p99', 'busy p50', 'busy p99', 'asked']
  const rows = [...busy].map(([name, samples]) => [
    name,
    ...[at(idle, name, 0.5), at(idle, name, 0.99), at(busy, name, 0.5), at(busy, name, 0.99)].map((ms) =>
      ms.toFixed(1),
    ),
    String(samples.length),
  ])
  sayTable([heading, ...rows])
  say(`answers to the viewer by status: ${JSON.stringify(Object.fromEntries(counts))}`)
  const others = [...busy.keys()].filter((name) => name !== 'healthz')
  const ratio = Math.max(...others.map((name) => at(busy, name, 0.5) / at(idle, name, 0.5)))
  sayBar({
    name: `api-${what}-healthz-p99`,
    measured: at(busy, 'healthz', 0.99),
    bar: 100,
    atLeast: false,
    unit: 'ms',
  })
  sayBar({ name: `api-${what}-others`, measured: ratio, bar: 2, atLeast: false, unit: 'x' })
}
