import { expect, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { systemClock } from '../../../src/clock.ts'
import type { EffectResult, EffectSpec } from '../../../src/ledger/effects.ts'
import { resultOfTask } from '../../../src/ledger/ended-task.ts'
import type { JobCall } from '../../../src/ledger/job.ts'
import { findOlderTasks } from '../../../src/ledger/older-tasks.ts'
import {
  finishTask,
  type PlatformTask,
  runTask,
  type TaskContext,
} from '../../../src/ledger/platform-task.ts'
import type { Call } from '../../../src/platforms/ports/call.ts'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import type { TaskHandle, TaskState, TaskTrace } from '../../../src/platforms/ports/task.ts'

interface Known {
  readonly id: string
  readonly name: string
  state: TaskState
}

const failure = new PlatformError({
  code: 'platform-fault',
  failure: 'unknown',
  message: 'It broke.',
  remedy: '',
})

/** A platform that remembers its tasks by id and by name; `goes` is what becomes of the next one. */
const createPlatform = () => {
  const known: Known[] = []
  const platform = { known, goes: 'succeeded' as TaskState, losesAnswer: false, begin, findTask }
  const handleOf = (task: Known): TaskHandle => ({
    id: task.id,
    status: async () => ({
      ...{ id: task.id, state: task.state, percent: null, result: `made by ${task.name}` },
      error: task.state === 'failed' ? failure : null,
    }),
    wait: async () => {
      if (task.state === 'succeeded') return `made by ${task.name}`
      throw failure
    },
  })
  async function begin({ name }: Call): Promise<TaskHandle> {
    const task = { id: `task-${known.length}`, name, state: platform.goes }
    known.push(task)
    if (platform.losesAnswer) throw failure
    return handleOf(task)
  }
  async function findTask(_call: Call, { taskId, name }: TaskTrace) {
    const task = known.findLast((one) => (taskId === undefined ? one.name === name : one.id === taskId))
    return task ? { found: true as const, value: handleOf(task) } : { found: false as const }
  }
  return platform
}

/** Turns of one job: what it has recorded outlives each of them. */
const createJob = () => {
  const effects = new Map<string, EffectResult & { readonly done: boolean }>()
  let checkpointed: Record<string, unknown> | null = null
  const effect = async (spec: EffectSpec): Promise<EffectResult> => {
    const before = effects.get(spec.name)
    if (before?.done) return before
    const intent = { id: spec.name, externalId: null, adopted: false, done: false }
    effects.set(spec.name, intent)
    const seen = before ? await spec.observe(new AbortController().signal) : { found: false as const }
    const done = seen.found ? seen : await spec.act(new AbortController().signal)
    const result = { ...intent, externalId: done?.externalId ?? null, adopted: seen.found, done: true }
    effects.set(spec.name, result)
    return result
  }
  const lease = { lost: false }
  const ctx = {
    job: { id: 'job', leaseEpoch: 1 },
    db: {} as Db,
    clock: { ...systemClock, monotonicMs: () => 0, sleep: async () => {} },
    signal: new AbortController().signal,
    confirm: () => {
      if (lease.lost) throw new Error('the lease is lost')
    },
    effect,
    get checkpointed() {
      return checkpointed
    },
    checkpoint: async (state: Record<string, unknown>) => {
      checkpointed = state
    },
  } as unknown as TaskContext
  return { ctx, effects, lease }
}

const createTask = (over: Partial<PlatformTask> = {}) => {
  const platform = createPlatform()
  const task: PlatformTask = {
    ...{ part: 'part', kind: 'kind', undo: null, platform: 'paris', machine: 'vm-1', tasks: platform },
    begin: platform.begin,
    made: async () => ({ found: false }),
    ...over,
  }
  return { platform, task, ...createJob() }
}

const callsOf = ({ known }: { readonly known: readonly Known[] }) => known.map(({ name }) => name)

test('a task is begun once over all turns, and its end is read from the record then', async () => {
  const { platform, task, ctx } = createTask()
  const ended = { type: 'ended', result: 'made by job/part' }
  expect(await runTask(ctx, task)).toMatchObject({ ...ended, byWord: true })
  expect(await runTask(ctx, task)).toMatchObject(ended)
  expect(callsOf(platform)).toEqual(['job/part'])
})

test('a lost answer is looked for by its name, and the task followed', async () => {
  const { platform, task, ctx } = createTask()
  platform.losesAnswer = true
  platform.goes = 'running'
  await expect(runTask(ctx, task)).rejects.toBe(failure)
  expect(await runTask(ctx, task)).toMatchObject({ type: 'working' })
  for (const one of platform.known) one.state = 'succeeded'
  expect(await runTask(ctx, task)).toMatchObject({ type: 'ended' })
  expect(callsOf(platform)).toEqual(['job/part'])
})

test('a task that failed is begun anew under the next name, and not more often than it may', async () => {
  const { platform, task, ctx } = createTask({ most: 3 })
  platform.goes = 'failed'
  for (const _ of [0, 1]) expect(await runTask(ctx, task)).toEqual({ type: 'failed', error: failure })
  await expect(runTask(ctx, task)).rejects.toMatchObject({ code: 'failed', class: 'permanent' })
  expect(callsOf(platform)).toEqual(['job/part', 'job/part/1', 'job/part/2'])
})

test('a failure that no further try mends is told before it is counted: a crash in between repeats nothing', async () => {
  const lasting = new Error('Somebody has aborted it.')
  const { platform, task, ctx } = createTask({
    onFailure: () => {
      throw lasting
    },
  })
  platform.goes = 'failed'
  for (const _ of [0, 1]) await expect(runTask(ctx, task)).rejects.toBe(lasting)
  expect(ctx.checkpointed).toBeNull()
  expect(callsOf(platform)).toEqual(['job/part'])
})

test('one that a platform has forgotten is asked for again, but never what may be done only once', async () => {
  const forget = async (repeat: 'anew' | 'never') => {
    const { platform, task, ctx } = createTask({ repeat })
    platform.goes = 'running'
    await runTask(ctx, task)
    platform.known.length = 0
    return runTask(ctx, task)
  }
  expect(await forget('anew')).toEqual({ type: 'lost' })
  expect(await forget('never')).toEqual({ type: 'unknown', taskId: 'task-0' })
})

test('nothing is begun beside a task that may be anybody’s', async () => {
  const { platform, task, ctx } = createTask()
  platform.losesAnswer = true
  await expect(runTask(ctx, task)).rejects.toBe(failure)
  const strange = { ...task, tasks: nameless(platform) }
  await expect(runTask(ctx, strange)).rejects.toMatchObject({ code: 'platform-busy' })
  expect(callsOf(platform)).toEqual(['job/part'])
})

/** What one call after the other comes to; the last of them goes well. */
const createAnswers = (...answers: readonly PlatformError[]) => {
  const sent: string[] = []
  const scene = createTask({
    sentAgain: true,
    begin: async (call) => {
      sent.push(call.name ?? '')
      const error = answers[sent.length - 1]
      if (error) throw error
      return scene.platform.begin(call)
    },
  })
  return { ...scene, sent }
}

test('a call that may be sent again is: under the same name, while the lease is held', async () => {
  const { task, ctx, sent } = createAnswers(failure, failure)
  expect(await runTask(ctx, task)).toMatchObject({ type: 'ended' })
  expect(sent).toEqual(['job/part', 'job/part', 'job/part'])
  const fenced = createAnswers(failure, failure)
  const begin = (call: JobCall) => {
    fenced.lease.lost = true
    return fenced.task.begin(call)
  }
  await expect(runTask(fenced.ctx, { ...fenced.task, begin })).rejects.toThrow('the lease is lost')
  expect(fenced.sent).toEqual(['job/part'])
})

test('nothing is sent, not even once, by who has lost the lease', async () => {
  const { task, ctx, sent, lease } = createAnswers()
  lease.lost = true
  await expect(runTask(ctx, task)).rejects.toThrow('the lease is lost')
  expect(sent).toEqual([])
})

test('a refusal after a lost answer is no word that nothing has come of it', async () => {
  const no = { code: 'platform-refused', message: 'It is there.', remedy: '' } as const
  const refusal = new PlatformError({ ...no, failure: 'refused' })
  const nothing: string[] = []
  const told = (scene: ReturnType<typeof createAnswers>) =>
    runTask(scene.ctx, { ...scene.task, onNothing: async () => void nothing.push('nothing') })
  await expect(told(createAnswers(failure, refusal))).rejects.toMatchObject({ cameToNothing: false })
  expect(nothing).toEqual([])
  await expect(told(createAnswers(refusal))).rejects.toMatchObject({ cameToNothing: true })
  expect(nothing).toEqual(['nothing'])
})

/** Somebody is at work on the machine, and the platform does not say who. */
const nameless = (platform: ReturnType<typeof createPlatform>): PlatformTask['tasks'] => ({
  findTask: async (call, trace) => {
    for (const one of platform.known) one.state = 'running'
    const found = await platform.findTask(call, { ...trace, name: platform.known[0]?.name ?? '' })
    return found.found ? { found: true, value: { ...found.value, byMachine: true } } : found
  },
})

test('what is to be finished in one turn goes on by what has become of it, or says that it takes long', async () => {
  const { platform, task, ctx } = createTask()
  platform.goes = 'running'
  await expect(finishTask(ctx, { ...task, turnMs: 10 })).rejects.toMatchObject({ code: 'task-under-way' })
  for (const one of platform.known) one.state = 'succeeded'
  expect(await finishTask(ctx, { ...task, turnMs: 10 })).toBe('made by job/part')
})

const call: JobCall = {
  ...{ clock: systemClock, confirm: () => {}, signal: new AbortController().signal },
  ...{ timeoutMs: 1_000, name: 'undo' },
}

test('an undo hears what its own task made, or that nothing has come of it', async () => {
  const platform = createPlatform()
  await platform.begin({ ...call, name: 'job/part' })
  platform.goes = 'failed'
  await platform.begin({ ...call, name: 'job/part/1' })
  const resultOf = (name: string) =>
    resultOfTask(platform, call, {
      effect: { kind: 'kind', name, externalId: null } as never,
      machine: 'vm-1',
    })
  expect(await resultOf('job/part')).toEqual({ found: true, value: 'made by job/part' })
  expect(await resultOf('job/part/1')).toEqual({ found: false })
  expect(await resultOf('job/part/2')).toEqual({ found: false })
})

test.each([
  ['target-machine', 'machine of e', ['job/target-machine/0', 'job/target-machine/1']],
  ['source-snapshot', 'drover-e-4', ['drover-e-4/0', 'drover-e-4/1']],
  // By the job alone, or by the epochs of the turns that came so far.
  ['target-fit', 'job/fit', ['job/fit', 'job/fit/2', 'job/fit/5']],
])(
  'every task of a %s that an older version began is found by its older names',
  async (kind, name, names) => {
    const platform = createPlatform()
    for (const one of names) await platform.begin({ ...call, name: one })
    const find = (effect: string) =>
      findOlderTasks(platform, call, { effect: { kind, name: effect, jobId: 'job', epoch: 5 } })
    expect(await find(name)).toEqual(names)
    expect(await find('job/part')).toBeUndefined()
  },
)
