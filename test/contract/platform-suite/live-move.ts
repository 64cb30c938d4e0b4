import { expect, test } from 'vitest'
import { until } from '../../support/wait.ts'
import { counterOf, withGuest } from './running.ts'
import {
  callOf,
  done,
  expectError,
  newName,
  nowhere,
  type PlatformUnderTest,
  portIn,
  present,
  runningMachine,
} from './world.ts'

export const testLiveMove = (world: PlatformUnderTest): void => {
  const move = () => portIn(world, 'liveMove')
  const power = (ref: string) => present(portIn(world, 'power').power(callOf(), ref))

  test('moves a running machine to another host, and its guest does not notice', async () => {
    const { machine } = await withGuest(world)
    const before = await power(machine.ref)
    const to = before.host === world.place.otherHost ? world.place.host : world.place.otherHost
    const guest = portIn(world, 'guest')
    const seen = await present(guest.guest(callOf(), machine.ref))
    await done(move().move(callOf(), machine.ref, { host: to, force: false }))
    expect(await power(machine.ref)).toEqual({ ...before, host: to })
    const after = await present(guest.guest(callOf(), machine.ref))
    expect(after.boot_id).toBe(seen.boot_id)
    if (seen.counter !== null) expect(counterOf(after)).toBeGreaterThanOrEqual(seen.counter)
  })

  test('a machine that is off, a host that is not there and a machine that is not there cannot be moved', async () => {
    const off = await world.machine()
    const to = { host: world.place.otherHost, force: false }
    await expectError(done(move().move(callOf(), off.ref, to)), { failure: 'refused' })
    await expectError(done(move().move(callOf(), nowhere, to)), { failure: 'absent' })
    const running = await runningMachine(world)
    const lost = done(move().move(callOf(), running.ref, { ...to, host: 'host-999999999' }))
    await expectError(lost, { code: 'platform-absent' })
    expect((await power(running.ref)).state).toBe('on')
  })

  const { holdMoves } = world.levers
  if (!holdMoves) return
  testAbort(world, holdMoves)
  testForce(world, holdMoves)
}

type HoldMoves = NonNullable<PlatformUnderTest['levers']['holdMoves']>

/** Of a platform whose moves can be held up, so that one is seen under way. */
const testAbort = (world: PlatformUnderTest, holdMoves: HoldMoves): void => {
  const move = () => portIn(world, 'liveMove')
  const power = (ref: string) => present(portIn(world, 'power').power(callOf(), ref))
  const onTheMove = async (at: number) => {
    const { machine } = await withGuest(world)
    await holdMoves(machine.ref, at)
    const before = await power(machine.ref)
    const host = before.host === world.place.otherHost ? world.place.host : world.place.otherHost
    const call = callOf()
    const task = await move().move(call, machine.ref, { host, force: false })
    return { machine, before, host, call, task }
  }

  test('tells where a move is, and aborts it: the machine runs on where it was', async () => {
    const { machine, before, host, call, task } = await onTheMove(60)
    const status = await until(
      async () => {
        const seen = await task.status(callOf())
        return seen.percent === 60 && seen
      },
      { what: 'the move to come to where it is held', withinMs: 60_000 },
    )
    expect(status).toMatchObject({
      state: 'running',
      move: { phase: 'iterative-copy', converging: false, abortable: true, throttlePercent: 0 },
    })
    const { copiedBytes, totalBytes } = status.move
    expect(copiedBytes).toBeGreaterThan(0)
    expect(totalBytes).toBeGreaterThan(copiedBytes ?? 0)
    const busy = move().checkMove(callOf(), machine.ref, { host, force: false })
    await expectError(busy, { code: 'platform-busy', failure: 'refused' })
    // Another process finds it by its name alone, as after a lost answer.
    expect(await move().abort(callOf(), { name: call.name, machine: machine.ref })).toBe('asked')
    await expectError(task.wait(callOf()), { code: 'platform-aborted', failure: 'refused' })
    expect(await power(machine.ref)).toEqual(before)
    expect(await move().abort(callOf(), { taskId: task.id })).toBe('ended')
  })

  test('a move that switches over is not aborted any more, and one that is not there is said to be absent', async () => {
    const { machine, before, host, task } = await onTheMove(95)
    await until(async () => (await task.status(callOf())).move.phase === 'switch-over', {
      what: 'the switch-over',
      withinMs: 60_000,
    })
    expect((await task.status(callOf())).move.abortable).toBe(false)
    expect(await move().abort(callOf(), { taskId: task.id })).toBe('too-late')
    expect(await power(machine.ref)).toEqual(before)
    const nothing = { taskId: '00000000-0000-4000-8000-000000000000', name: newName('no-move') }
    expect(await move().abort(callOf(), nothing)).toBe('absent')
    expect(await move().findTask(callOf(), nothing)).toEqual({ found: false })
    expect(host).not.toBe(before.host)
  })
}

const testForce = (world: PlatformUnderTest, holdMoves: HoldMoves): void => {
  const move = () => portIn(world, 'liveMove')
  const power = (ref: string) => present(portIn(world, 'power').power(callOf(), ref))

  test('says before whether it would begin, and does nothing', async () => {
    const { machine } = await withGuest(world)
    const before = await power(machine.ref)
    const to = (host: string) => ({ host, force: false })
    const other = before.host === world.place.otherHost ? world.place.host : world.place.otherHost
    await move().checkMove(callOf(), machine.ref, to(other))
    const here = move().checkMove(callOf(), machine.ref, to(before.host))
    await expectError(here, { code: 'platform-wrong-state', failure: 'refused' })
    await expectError(move().checkMove(callOf(), machine.ref, to('host-999999999')), {
      code: 'platform-absent',
    })
    await expectError(move().checkMove(callOf(), nowhere, to(other)), { failure: 'absent' })
    expect(await power(machine.ref)).toEqual(before)
  })

  test('a guest that writes faster than is copied is slowed down by force, and arrives', async () => {
    const { machine } = await withGuest(world)
    await holdMoves(machine.ref, 60)
    const before = await power(machine.ref)
    const host = before.host === world.place.otherHost ? world.place.host : world.place.otherHost
    await done(move().move(callOf(), machine.ref, { host, force: true }))
    expect(await power(machine.ref)).toEqual({ ...before, host })
  })
}
