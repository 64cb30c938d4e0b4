import fc from 'fast-check'
import { v7 as uuidv7 } from 'uuid'
import { expect } from 'vitest'
import type { Db } from '../../../db/client.ts'
import type { HostFacts } from '../../../src/domain/inventory/facts.ts'
import { operationKinds } from '../../../src/domain/operation/kinds/kinds.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { makeSite } from '../../support/inventory.ts'
import { checkMachines } from '../../support/operated-machines.ts'
import { checkOperations, watchOperations } from '../../support/operation-invariants.ts'
import { OperationWorld, type Setting, type Step } from './operation-world.ts'

const at = fc.nat(1)
const pick = fc.nat(5)
const lines = fc.option(fc.nat(60), { nil: null, freq: 2 })
const fate = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ diesAfter: null, freezesAfter: null }) },
  { weight: 2, arbitrary: fc.record({ diesAfter: lines, freezesAfter: fc.constant(null) }) },
  { weight: 2, arbitrary: fc.record({ diesAfter: fc.constant(null), freezesAfter: lines }) },
)
/** Those that are about one machine's power and its place more often: they meet each other. */
const kind = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('start', 'stop', 'restart') },
  { weight: 4, arbitrary: fc.constantFrom('migrate', 'evict', 'evict') },
  { weight: 2, arbitrary: fc.constantFrom('hibernate', 'wake') },
  { weight: 1, arbitrary: fc.constantFrom(...operationKinds) },
)
const ask = fc.record({
  kind,
  force: fc.boolean(),
  onConflict: fc.constantFrom('supersede', 'supersede', 'supersede', 'queue', 'reject'),
  evacuates: fc.boolean(),
  twist: fc.nat(3),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('ask'), at, asks: fc.array(ask, { minLength: 1, maxLength: 3 }) }),
  },
  { weight: 14, arbitrary: fc.record({ do: fc.constant('work'), pick, fate, patience: fc.nat(1_000) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('cancel', 'cancel', 'expire', 'overrun'), pick }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('thaw'), pick, heard: fc.boolean() }) },
  {
    weight: 9,
    arbitrary: fc.record({ do: fc.constantFrom('lose', 'tick', 'tick', 'debts', 'wake', 'wake', 'wake') }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('come', 'come', 'come', 'fill'), at }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('crash', 'crowd'), at: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('cut', 'mend', 'mend', 'garble') }) },
) as fc.Arbitrary<Step>

const machine: fc.Arbitrary<Setting> = fc.record({
  power: fc.constantFrom('on', 'on', 'off', 'hibernated'),
  guest: fc.constantFrom('obeys', 'obeys', 'hangs', 'deaf'),
  stalls: fc.constantFrom(false, false, false, true),
  policy: fc.constantFrom('manual', 'manual', 'manual', 'always-on-unless-stopped', 'always-on'),
})

export interface Meetings {
  readonly seed: number
  readonly runs: number
  /** None goes on after this. It bounds the search for the shortest one that fails, too. */
  readonly limitMs: number
  /** Not to have told all of them by then is a failure. */
  readonly whole: boolean
}

export interface Met {
  readonly stories: number
  /** How often operations ended in each way. */
  readonly ends: ReadonlyMap<string, number>
  /** The same of each kind, as text for people. */
  readonly told: string
}

const hostsOf = (db: Db, siteId: string) =>
  Promise.all(
    ['node-1', 'node-2', 'node-3'].map((ref) => {
      const facts: HostFacts = {
        ...{
          ref,
          name: ref,
          cluster: 'c',
          datacenter: 'd',
          state: 'connected',
          cpu_model: '',
          cpu_class: '',
        },
        ...{ cpus: 8, memory: 64 * 1024 ** 3, cpus_used: 0, memory_used: 0, version: '' },
      }
      return db`
        insert into host (id, site_id, ref, name, hash, revision, facts)
        values (${uuidv7()}::uuid, ${siteId}::uuid, ${ref}, ${ref}, '', 1, ${JSON.stringify(facts)}::text::jsonb)`
    }),
  )

/** Counts by kind and state. */
class Tally {
  readonly #counts = new Map<string, Map<string, number>>()
  #stories = 0

  async add(db: Db): Promise<void> {
    this.#stories += 1
    const rows = await db<{ kind: string; state: string }[]>`select kind, state from operation`
    for (const { kind, state } of rows) {
      const of = this.#counts.get(kind) ?? new Map<string, number>()
      this.#counts.set(kind, of.set(state, (of.get(state) ?? 0) + 1))
    }
  }

  get met(): Met {
    const ends = new Map<string, number>()
    for (const of of this.#counts.values())
      for (const [state, times] of of) ends.set(state, (ends.get(state) ?? 0) + times)
    const lines = [...this.#counts].map(
      ([kind, of]) => `${kind}: ${[...of].map(([state, times]) => `${times} ${state}`).join(', ')}`,
    )
    const told = [`${this.#stories} stories.`, ...lines.sort()].join('\n')
    return { stories: this.#stories, ends, told }
  }
}

/** So many stories of one or two machines at which operations meet, each held against every law when all is over. */
export const simulateMeetings = async (db: Db, meetings: Meetings): Promise<Met> => {
  await watchOperations(db)
  const target = await makeSite(db, { role: 'target', name: 'cloud', connectivity: 'ok', quiet: true })
  await hostsOf(db, target.id)
  const tally = new Tally()
  const run = async (machines: readonly Setting[], steps: readonly Step[]): Promise<void> => {
    const world = new OperationWorld(db, target)
    await world.begin(machines)
    for (const taken of steps) await world.take(taken)
    expect(await checkOperations(db)).toEqual([])
    await world.settle()
    expect(await checkOperations(db, { atRest: true })).toEqual([])
    expect(world.broken).toEqual([])
    expect(await checkMachines(db, world.cloud.log())).toEqual([])
    expect(await checkInvariants(db)).toEqual([])
    await tally.add(db)
  }
  const told = await fc.check(
    fc.asyncProperty(
      fc.array(machine, { minLength: 1, maxLength: 2 }),
      fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }),
      run,
    ),
    {
      seed: meetings.seed,
      numRuns: meetings.runs,
      interruptAfterTimeLimit: meetings.limitMs,
      markInterruptAsFailure: meetings.whole,
    },
  )
  if (told.failed) throw new Error(fc.defaultReportMessage(told), { cause: told.errorInstance })
  return tally.met
}
