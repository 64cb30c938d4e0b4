import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { WireTask } from '../../../src/platforms/lab/protocol.ts'
import { createLab, type SiteClient } from '../../support/lab.ts'

const GiB = 1024 ** 3
const machine = (n: number) => ({
  name: `storm-${n}`,
  project: '',
  host: '',
  folder: '',
  cpus: 1,
  memory: 100 * GiB,
  uuid: `42010000-0000-4000-8000-${String(n % 4).padStart(12, '0')}`,
  legacy_boot: false,
  secure_boot: false,
  nics: [],
  disks: [],
  owner: { storm: 'yes' },
})

interface LogEntry {
  readonly machine: string
  readonly running: boolean
  readonly host: string
  readonly run_id: string
}

const verbs = ['start', 'stop', 'restart', 'move', 'suspend'] as const

const one = async (site: SiteClient, work: { ref: string; verb: (typeof verbs)[number]; host: number }) => {
  const { ref, verb, host } = work
  if (verb === 'move') await site.call(`POST /instances/${ref}/move`, { host: `node-${host}` })
  else await site.call(`POST /instances/${ref}/power`, { verb })
}

test('whatever many callers do at once, no host holds more than it has and every run has one end', async () => {
  const lab = await createLab({ pace: 0.02 })
  const callers = await Promise.all(['a', 'b', 'c'].map((caller) => lab.signIn('cloud', { caller })))
  const [first] = callers
  if (!first) throw new Error('There is no caller.')
  const refs = await Promise.all(
    Array.from({ length: 8 }, async (_, n) => (await first.done('POST /instances', machine(n))).result ?? ''),
  )
  const works = fc.sample(
    fc.record({
      ref: fc.constantFrom(...refs),
      verb: fc.constantFrom(...verbs),
      host: fc.integer({ min: 1, max: 3 }),
    }),
    { numRuns: 150, seed: 11 },
  )
  await Promise.all(
    callers.map(async (site, index) => {
      for (const work of works.filter((_, n) => n % callers.length === index)) {
        await one(site, work)
        // What was begun gets its time also where calls take none; what the others do meanwhile still meets it.
        await lab.pass(20)
      }
    }),
  )
  await lab.pass(60_000)
  const { power } = (await lab.admin('GET /lab/power')).json as { power: LogEntry[] }
  const on = new Map<string, LogEntry>()
  for (const entry of power) {
    const before = on.get(entry.machine)
    // A stop of what is suspended ends no run; everything else that is off was on.
    if (entry.running) on.set(entry.machine, entry)
    else on.delete(entry.machine)
    if (entry.running && before) expect(entry.run_id).toBe(before.run_id)
    for (const host of ['node-1', 'node-2', 'node-3']) {
      const there = [...on.values()].filter(
        (running) => running.host === host && refs.includes(running.machine),
      )
      expect(there.length).toBeLessThanOrEqual(2)
    }
  }
  expect(power.filter(({ machine: ref }) => refs.includes(ref)).length).toBeGreaterThan(20)
  for (const ref of refs) {
    const { state } = (await first.call(`GET /instances/${ref}/power`)).json as { state: string }
    expect(state === 'on').toBe(on.has(ref))
  }
})

test('a name that many give at once to different callers starts one task', async () => {
  const lab = await createLab({ pace: 0.02 })
  const callers = await Promise.all(['a', 'b', 'c', 'd'].map((caller) => lab.signIn('vcenter', { caller })))
  const answers = await Promise.all(
    callers.flatMap((site) =>
      Array.from({ length: 5 }, () =>
        site.call(
          'POST /instances/vm-101/clone',
          { name: 'one', folder: '', owner: {} },
          { name: 'the clone' },
        ),
      ),
    ),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
  expect(new Set(answers.map(({ json }) => (json as WireTask).id)).size).toBe(1)
  await lab.pass(60_000)
  const answer = await callers[0]?.call('GET /inventory')
  const { items } = (answer?.json ?? { items: [] }) as unknown as { items: { facts?: { name: string } }[] }
  expect(items.filter(({ facts }) => facts?.name === 'one')).toHaveLength(1)
})
