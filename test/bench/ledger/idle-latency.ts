import type { StartedProcess } from '../processes.ts'
import { say, sayBar, saySection } from '../report.ts'
import { median, pauseMs, percentile } from '../samples.ts'
import type { Bench } from './contender.ts'
import { type BellStore, bells, type Fleet, startFleet } from './fleet.ts'

const bars = { p50: 3, p99: 25 }

/** How soon a single job starts when nothing else is going on. */
export const runIdleLatency = async (bench: Bench): Promise<void> => {
  const { latencySamples } = bench.options
  const rounds = Math.min(3, bench.options.rounds)
  saySection(`Idle latency: ${latencySamples} single jobs a bell, 5 to 30 ms apart, milliseconds`)
  say('The clock goes from when the enqueuing process knows of its commit until the handler has started in')
  say('the worker process. The next job is sent after the handler has started, and a pause.')
  const fleets = new Map<BellStore, Fleet>()
  for (const bell of bells)
    fleets.set(bell, await startFleet(bench, { bell, database: `idle_${bell}`, probe: true }))
  const samples = new Map<BellStore, number[]>(bells.map((bell) => [bell, []]))
  for (const [bell, fleet] of fleets) await measure(bell, fleet, Math.ceil(latencySamples / 10))
  for (let round = 0; round < rounds; round += 1)
    for (const [bell, fleet] of fleets)
      samples.get(bell)?.push(...(await measure(bell, fleet, Math.ceil(latencySamples / rounds))))
  for (const [bell, fleet] of fleets) {
    await fleet.close()
    await bench.postgres.dropDatabase(`idle_${bell}`)
  }
  for (const [bell, latencies] of samples) sayLatencies(bell, latencies)
}

const measure = async (bell: BellStore, fleet: Fleet, count: number): Promise<number[]> => {
  const probe = new Probe(fleet.workers)
  const latencies: number[] = []
  for (let at = 0; at < count; at += 1) {
    const [job] = await fleet.enqueue(1)
    const committedNs = process.hrtime.bigint()
    if (!job) throw new Error(`No job was added (bell on ${bell}).`)
    const startedNs = await probe.started(job.id)
    latencies.push(Number(startedNs - committedNs) / 1e6)
    await pauseMs(5 + Math.random() * 25)
  }
  probe.close()
  return latencies
}

const longestMs = 30_000

/** Hears from the workers when handlers start. */
class Probe {
  readonly #workers: readonly StartedProcess[]
  readonly #starts = new Map<string, bigint>()
  #waiting: { id: string; resolve: (atNs: bigint) => void } | undefined

  constructor(workers: readonly StartedProcess[]) {
    this.#workers = workers
    for (const worker of workers) worker.child.on('message', this.#hear)
  }

  started(id: string): Promise<bigint> {
    const atNs = this.#starts.get(id)
    if (atNs !== undefined) return Promise.resolve(atNs)
    return new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`Job ${id} did not start in ${longestMs} ms.`)),
        longestMs,
      )
      this.#waiting = {
        id,
        resolve: (at) => {
          clearTimeout(late)
          resolve(at)
        },
      }
    })
  }

  close(): void {
    for (const worker of this.#workers) worker.child.off('message', this.#hear)
  }

  readonly #hear = (message: unknown): void => {
    const { id, atNs } = message as { id?: string; atNs?: string }
    if (id === undefined || atNs === undefined) return
    this.#starts.set(id, BigInt(atNs))
    if (this.#waiting?.id === id) this.#waiting.resolve(BigInt(atNs))
  }
}

const sayLatencies = (bell: BellStore, latencies: readonly number[]): void => {
  const show = (value: number) => value.toFixed(2)
  const highest = show(Math.max(...latencies))
  say(
    `bell on ${bell}: median ${show(median(latencies))}, p99 ${show(percentile(latencies, 0.99))}, highest ${highest}`,
  )
  sayBar({
    name: `idle-p50-${bell}`,
    measured: percentile(latencies, 0.5),
    bar: bars.p50,
    atLeast: false,
    unit: 'ms',
  })
  sayBar({
    name: `idle-p99-${bell}`,
    measured: percentile(latencies, 0.99),
    bar: bars.p99,
    atLeast: false,
    unit: 'ms',
  })
}
