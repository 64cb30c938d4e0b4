import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../clock.ts'
import { progressBar, type Terminal } from './terminal.ts'

/** Small on purpose: it runs at every start, and is over before a person has read the lines above it. */
const jobs = 40
const failing = 2
const patienceMs = 120_000

interface Progress {
  readonly jobs: number
  readonly ended: number
  readonly counts: Readonly<Record<string, number>>
  readonly done: boolean
}

export interface SelfTestOptions {
  readonly address: string
  readonly token: string
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly clock?: Clock
}

/**
 * Sends a batch of jobs that touch nothing through the whole fleet: API, ledger, bell, workers. Shows how far
 * it is, and says at the end what happened. Never throws: a fleet that serves is worth more than its self-test.
 */
export const runSelfTest = async (options: SelfTestOptions): Promise<boolean> => {
  const { terminal, signal } = options
  const clock = options.clock ?? systemClock
  terminal.line(
    `Self-test: ${jobs} jobs, ${failing} of them fail on purpose (DROVER_SELF_TEST=0 leaves it out)`,
  )
  const began = clock.monotonicMs()
  try {
    const lane = await send(options)
    const last = await follow(options, lane, clock, began)
    if (signal.aborted) return false
    if (!last) {
      terminal.line(
        `The self-test is not done after ${patienceMs / 1000} s; it goes on: ${options.address}/queues`,
      )
      return false
    }
    return conclude(terminal, options.address, last, clock.monotonicMs() - began)
  } catch (error) {
    terminal.live('')
    if (!signal.aborted) terminal.line(`The self-test could not be run: ${(error as Error).message}`)
    return false
  }
}

const send = async (options: SelfTestOptions): Promise<string> => {
  const answer = await ask(options, '/v1/self-tests', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': randomUUID() },
    body: JSON.stringify({ jobs, failing }),
  })
  return (answer as { lane: string }).lane
}

/** The last progress, or undefined when time ran out or we are told to stop. */
const follow = async (
  options: SelfTestOptions,
  lane: string,
  clock: Clock,
  began: number,
): Promise<Progress | undefined> => {
  const { terminal, signal } = options
  const path = `/v1/self-tests/${encodeURIComponent(lane)}`
  let shown = -1
  while (!signal.aborted && clock.monotonicMs() - began < patienceMs) {
    const now = (await ask(options, path)) as Progress
    const elapsedMs = clock.monotonicMs() - began
    if (terminal.isLive) terminal.live(progressBar(now.ended, now.jobs, elapsedMs))
    else if (now.ended !== shown)
      terminal.line(`  ${now.ended}/${now.jobs} ended after ${seconds(elapsedMs)} s`)
    shown = now.ended
    if (now.done) {
      terminal.live('')
      return now
    }
    await clock.sleep(terminal.isLive ? 100 : 500, signal)
  }
  terminal.live('')
  return undefined
}

const conclude = (terminal: Terminal, address: string, last: Progress, elapsedMs: number): boolean => {
  const succeeded = last.counts.succeeded ?? 0
  const failed = last.counts.failed ?? 0
  const asPlanned = succeeded === jobs - failing && failed === failing
  const rate = Math.round((last.jobs / elapsedMs) * 1_000)
  const facts = `${succeeded} succeeded, ${failed} failed in ${seconds(elapsedMs)} s (${rate} jobs/s)`
  terminal.line(
    asPlanned
      ? `Self-test passed: ${facts}. The ${failed} failed on purpose: that is how a failure looks.`
      : `Self-test FAILED: ${facts}; expected ${jobs - failing} and ${failing}.`,
  )
  terminal.line(`  Look at them: ${address}/queues    API: ${address}/docs`)
  return asPlanned
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

const ask = async (options: SelfTestOptions, path: string, init: RequestInit = {}): Promise<unknown> => {
  const response = await fetch(`${options.address}${path}`, {
    ...init,
    headers: { ...init.headers, authorization: `Bearer ${options.token}` },
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(10_000)]),
  })
  if (response.ok) return await response.json()
  const problem = (await response.json().catch(() => ({}))) as { detail?: string; title?: string }
  throw new Error(
    `${path} answered ${response.status}: ${problem.detail ?? problem.title ?? 'no reason given'}`,
  )
}
