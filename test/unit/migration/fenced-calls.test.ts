import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { EffectSpec } from '../../../src/ledger/effects.ts'
import { callBy } from '../../../src/ledger/job.ts'
import { snapshotName, takeSnapshot } from '../../../src/migration/copy/source-snapshot.ts'
import { fitTarget } from '../../../src/migration/cutover/fit-target.ts'
import { proveTargetOff } from '../../../src/migration/target/own-target.ts'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'

const noAnswer = new PlatformError({
  code: 'platform-timeout',
  failure: 'unknown',
  message: 'No answer.',
  remedy: '',
})

/** What these two steps use of a job, with effects that outlive its turns. */
const jobOf = (effects: Set<string>) => {
  const stop = new AbortController()
  const ctx = {
    job: { id: 'job', leaseEpoch: 1 },
    db: {},
    clock: { ...systemClock, monotonicMs: () => 0, sleep: async () => {} },
    signal: stop.signal,
    confirm: () => stop.signal.throwIfAborted(),
    checkpointed: null,
    checkpoint: async () => {},
    effect: async (spec: EffectSpec) => {
      const seen = effects.has(spec.name) ? await spec.observe(stop.signal) : { found: false }
      effects.add(spec.name)
      if (!seen.found) await spec.act(stop.signal)
      return { id: 'effect', externalId: null, adopted: seen.found }
    },
  }
  return { ctx, stop }
}

/** A worker whose lease goes without a word: only the clock tells. */
const leaseOf = () => {
  const lease = { lost: false }
  const confirm = () => {
    if (lease.lost) throw new Error('the lease is lost')
  }
  const clock = { ...systemClock, monotonicMs: () => 0, sleep: async () => {} }
  return { lease, ctx: { clock, confirm, signal: new AbortController().signal } }
}

test('a worker that has lost its lease does not send the making of a snapshot again', async () => {
  const { ctx, stop } = jobOf(new Set())
  let sent = 0
  const machines = {
    snapshots: async () => ({ found: true, value: [] }),
    findTask: async () => ({ found: false }),
    createSnapshot: async () => {
      sent += 1
      stop.abort(new Error('the lease is lost'))
      throw noAnswer
    },
  }
  const task = {
    entryWork: { ctx, source: { id: 's', name: 'paris' }, entry: { id: 'e1' }, facts: { ref: 'vm' } },
    ends: { source: { kind: 'lab', ports: { machines } }, target: {} },
  }
  await expect(takeSnapshot(task as never, 1)).rejects.toThrow()
  expect(sent).toBe(1)
})

test('a worker that has lost its lease does not switch a target off again', async () => {
  const { ctx, lease } = leaseOf()
  let sent = 0
  const power = {
    findTask: async () => ({ found: false }),
    power: async () => ({ found: true, value: { state: 'on' } }),
    stop: async () => {
      sent += 1
      lease.lost = true
      throw noAnswer
    },
  }
  const machines = { findOwned: async () => ['vm-1'] }
  const platform = { kind: 'lab', ports: { power, machines } } as never
  const owned = { entryId: 'e1', machineRef: 'vm-1' }
  const off = proveTargetOff(platform, callBy(ctx, 'off', 1_000), owned, { starts: [], confirm: () => {} })
  await expect(off).rejects.toThrow('the lease is lost')
  expect(sent).toBe(1)
})

const fittingTo = (ctx: object, machines: object, cpus = 2) =>
  ({
    entryWork: {
      ctx,
      target: { name: 'oslo' },
      source: { name: 'paris' },
      entry: { id: 'e1', machineRef: 'vm-1', placement: { networks: {}, target: 'oslo' } },
      facts: { cpus, memory: 1, uuid: '', description: '', attributes: {}, nics: [] },
    },
    ends: { target: { kind: 'lab', ports: { machines } }, source: {} },
  }) as never

const succeeded = { id: 't', state: 'succeeded', percent: 100, result: null, error: null }
const handle = { id: 't', status: async () => succeeded, wait: async () => null }

test('a fit that has ended asks its target for nothing, not even whose the machine is', async () => {
  const asked: string[] = []
  const { ctx } = jobOf(new Set())
  const checkpointing = Object.assign(ctx, {
    checkpoint: async (state: null) => {
      ctx.checkpointed = state
    },
  })
  const machines = {
    owner: async () => {
      asked.push('owner')
      return { found: true, value: { 'drover.entry': 'e1' } }
    },
    findTask: async () => ({ found: true, value: handle }),
    reconfigure: async () => handle,
  }
  await fitTarget(fittingTo(checkpointing, machines))
  await fitTarget(fittingTo(checkpointing, machines))
  expect(asked).toEqual(['owner'])
})

test.each([
  ['that an older version named by its turn', 'job/fit', 'job/fit/2'],
  ['that an older version named by its job alone', 'job/fit', 'job/fit'],
  ['that failed once before under that name', 'job/fit/1', 'job/fit/1'],
  ['to another record', 'job/fit-0123456789abcdef', 'job/fit-0123456789abcdef'],
])('a fit %s comes to its end before this one is asked for', async (_, effect, name) => {
  const told: string[] = []
  const { ctx } = jobOf(new Set())
  const earlier = { kind: 'target-fit', name: effect, jobId: 'job', epoch: 2, externalId: null }
  Object.assign(ctx, { job: { id: 'job', leaseEpoch: 3 }, db: async () => [earlier] })
  const states = ['running', 'running', 'succeeded']
  const status = async () => {
    const state = states.shift() ?? 'succeeded'
    told.push(state)
    return { ...succeeded, state }
  }
  const machines = {
    owner: async () => ({ found: true, value: { 'drover.entry': 'e1' } }),
    findTask: async (_: unknown, trace: { readonly name: string }) =>
      trace.name === name || told.includes('asked')
        ? { found: true, value: trace.name === name ? { ...handle, status } : handle }
        : { found: false },
    reconfigure: async () => {
      told.push('asked')
      return handle
    },
  }
  await fitTarget(fittingTo(ctx, machines))
  expect(told).toEqual(['running', 'running', 'succeeded', 'asked'])
})

test('two jobs of one entry give the same cycle two snapshots; what this job began under an older name keeps it', async () => {
  const nameIn = (job: object, open: readonly object[]) =>
    snapshotName({ entryWork: { ctx: { job, db: async () => open }, entry: { id: 'e1' } } } as never, 1)
  const [first, second] = ['0198-aaaaaaaaaaaa', '0198-bbbbbbbbbbbb'].map((id) => ({ id, leaseEpoch: 2 }))
  expect(await nameIn(first ?? {}, [])).toBe('drover-e1-aaaaaaaaaaaa-1')
  expect(await nameIn(second ?? {}, [])).toBe('drover-e1-bbbbbbbbbbbb-1')
  const older = { kind: 'source-snapshot', name: 'job/snapshot-1', undo: { snapshot: 'drover-e1-1' } }
  expect(await nameIn(first ?? {}, [older])).toBe('drover-e1-1')
})

test('a target is fitted to what is settled now, also where an earlier turn had asked for something else', async () => {
  const asked: { readonly name: string; readonly cpus: number }[] = []
  const effects = new Set<string>()
  const turn = (cpus: number, dies: boolean) => {
    const { ctx, stop } = jobOf(effects)
    const machines = {
      owner: async () => ({ found: true, value: { 'drover.entry': 'e1' } }),
      findTask: async (_: unknown, { name }: { readonly name: string }) =>
        asked.some((one) => one.name === name) ? { found: true, value: handle } : { found: false },
      reconfigure: async (
        { name }: { readonly name: string },
        _: string,
        change: { readonly cpus: number },
      ) => {
        asked.push({ name, cpus: change.cpus })
        if (!dies) return handle
        stop.abort(new Error('the worker dies here'))
        throw noAnswer
      },
    }
    return fittingTo(ctx, machines, cpus)
  }
  await expect(fitTarget(turn(2, true))).rejects.toThrow()
  await fitTarget(turn(4, false))
  expect(asked.map(({ cpus }) => cpus)).toEqual([2, 4])
})
