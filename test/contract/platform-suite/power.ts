import { expect, test } from 'vitest'
import { mayHaveHappened } from '../../../src/platforms/ports/platform-error.ts'
import { portOf } from '../../../src/platforms/ports/ports.ts'
import type { PowerPort } from '../../../src/platforms/ports/power.ts'
import {
  behindProxy,
  callOf,
  done,
  errorOf,
  expectError,
  newName,
  nowhere,
  type PlatformUnderTest,
  portIn,
  present,
  runningMachine,
  untilPower,
} from './world.ts'

export const testPower = (world: PlatformUnderTest): void => {
  const power = () => portIn(world, 'power')
  const look = (ref: string) => present(power().power(callOf(), ref))

  test('starts, restarts and stops, and says where and in which run', async () => {
    const machine = await world.machine()
    expect((await look(machine.ref)).state).toBe('off')
    await done(power().start(callOf(), machine.ref))
    const first = await look(machine.ref)
    expect(first.state).toBe('on')
    expect(first.host).not.toBe('')
    await done(power().restart(callOf(), machine.ref))
    expect((await look(machine.ref)).state).toBe('on')
    await done(power().stop(callOf(), machine.ref))
    expect((await look(machine.ref)).state).toBe('off')
  })

  test('knows that a machine is not there, and refuses to act on it as absent', async () => {
    expect(await power().power(callOf(), nowhere)).toEqual({ found: false })
    for (const verb of ['start', 'stop', 'restart'] as const)
      await expectError(done(power()[verb](callOf(), nowhere)), {
        code: 'platform-absent',
        failure: 'absent',
      })
  })

  test('refuses a verb in the wrong state, and nothing happens', async () => {
    const machine = await world.machine()
    const wrong = { code: 'platform-wrong-state', failure: 'refused' } as const
    for (const verb of ['stop', 'restart'] as const)
      await expectError(done(power()[verb](callOf(), machine.ref)), wrong)
    await done(power().start(callOf(), machine.ref))
    const before = await look(machine.ref)
    await expectError(done(power().start(callOf(), machine.ref)), wrong)
    expect(await look(machine.ref)).toEqual(before)
  })

  test('the same intent twice starts a machine once', async () => {
    const machine = await world.machine()
    const call = callOf()
    const first = await power().start(call, machine.ref)
    await first.wait(callOf())
    const before = await look(machine.ref)
    if (world.remembersNames) expect((await power().start(call, machine.ref)).id).toBe(first.id)
    else await expectError(done(power().start(call, machine.ref)), { failure: 'refused' })
    expect(await look(machine.ref)).toEqual(before)
  })

  testFinding(world)

  test('an answer that got lost is unknown, and whoever looks finds out what happened', async () => {
    const machine = await world.machine()
    const { platform, proxy } = await behindProxy(world)
    const lossy = portOf(platform, 'power')
    await lossy.power(callOf(), machine.ref)
    proxy.loseAnswers()
    const name = newName('lost')
    const outcome = await lossy.start(callOf({ name }), machine.ref).then(
      () => undefined,
      (error: unknown) => error,
    )
    // A driver may look first, and notice there that the network is bad; then nothing happened, and it may go on.
    if (outcome !== undefined) expect(mayHaveHappened(outcome)).toBe(true)
    await startedAfterAll(power(), { name, machine: machine.ref })
    await untilPower(world, machine.ref, 'on')
  })
}

/** What a worker does that does not know whether it has started the machine: look, and only then start. */
const startedAfterAll = async (
  power: PowerPort,
  intent: { name: string; machine: string },
): Promise<void> => {
  const found = await power.findTask(callOf(), intent)
  if (found.found) await found.value.wait(callOf())
  const facts = await present(power.power(callOf(), intent.machine))
  if (facts.state !== 'on') await done(power.start(callOf({ name: intent.name }), intent.machine))
}

const testFinding = (world: PlatformUnderTest): void => {
  test('a task is found again by another process', async () => {
    const machine = await world.machine()
    const name = newName('found')
    const task = await portIn(world, 'power').start(callOf({ name }), machine.ref)
    const after = portIn(world, 'power')
    const byId = await present(after.findTask(callOf(), { taskId: task.id }))
    await byId.wait(callOf())
    expect(await byId.status(callOf())).toMatchObject({ id: task.id, state: 'succeeded', error: null })
    const traces = { name: { name }, machine: { machine: machine.ref } }
    for (const by of world.findsTasksBy) {
      const found = await present(after.findTask(callOf(), traces[by]))
      expect(found.id, by).toBe(task.id)
    }
    for (const trace of [{ taskId: 'task-999999' }, { name: newName('never') }, { machine: nowhere }])
      expect(await after.findTask(callOf(), trace), JSON.stringify(trace)).toEqual({ found: false })
  })

  test('whoever stops to wait for a task does not stop the task', async () => {
    const machine = await world.machine()
    const task = await portIn(world, 'power').start(callOf(), machine.ref)
    const ending = new AbortController()
    ending.abort(new Error('no more patience'))
    await expect(task.wait(callOf({ signal: ending.signal }))).rejects.toThrow('no more patience')
    await untilPower(world, machine.ref, 'on')
  })
}

export const testGuestShutdown = (world: PlatformUnderTest): void => {
  const power = () => portIn(world, 'power')

  test('asks a guest to go down, and it goes', async () => {
    const machine = await runningMachine(world)
    await done(power().shutdownGuest(callOf(), machine.ref))
    await untilPower(world, machine.ref, 'off')
  })

  test('a machine that is off cannot be asked', async () => {
    const machine = await world.machine()
    await expectError(done(power().shutdownGuest(callOf(), machine.ref)), { code: 'platform-wrong-state' })
    await expectError(done(power().shutdownGuest(callOf(), nowhere)), { failure: 'absent' })
  })

  const { machineWithoutAgent } = world
  if (machineWithoutAgent)
    test('a guest without an agent cannot be asked, and that is said', async () => {
      const machine = await machineWithoutAgent()
      await done(power().start(callOf(), machine.ref))
      const asked = done(power().shutdownGuest(callOf(), machine.ref))
      await expectError(asked, { code: 'platform-refused', failure: 'refused' })
      expect((await present(power().power(callOf(), machine.ref))).state).toBe('on')
    })
}

export const testSuspend = (world: PlatformUnderTest): void => {
  test('suspends a running machine and wakes it', async () => {
    const machine = await runningMachine(world)
    const power = portIn(world, 'power')
    await done(power.suspend(callOf(), machine.ref))
    expect((await present(power.power(callOf(), machine.ref))).state).toBe('suspended')
    await errorOf(done(power.suspend(callOf(), machine.ref)))
    await done(power.start(callOf(), machine.ref))
    expect((await present(power.power(callOf(), machine.ref))).state).toBe('on')
  })
}
