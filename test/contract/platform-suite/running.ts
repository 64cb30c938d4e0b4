import { expect, test } from 'vitest'
import type { GuestView } from '../../../src/platforms/ports/guest.ts'
import { until } from '../../support/wait.ts'
import {
  callOf,
  done,
  expectError,
  made,
  newName,
  nowhere,
  type PlatformUnderTest,
  portIn,
  present,
  runningMachine,
  type TestMachine,
} from './world.ts'

/** A machine whose guest has come up. */
const withGuest = async (world: PlatformUnderTest): Promise<{ machine: TestMachine; guest: GuestView }> => {
  const machine = await runningMachine(world)
  const guest = await until(
    async () => {
      const view = await present(portIn(world, 'guest').guest(callOf(), machine.ref))
      return view.agent === 'running' && view
    },
    { what: 'the guest to come up', withinMs: world.patienceMs ?? 60_000 },
  )
  return { machine, guest }
}

const counterOf = (guest: GuestView): number => {
  if (guest.counter === null) throw new Error('This guest has no counter in its memory.')
  return guest.counter
}

export const testHibernate = (world: PlatformUnderTest): void => {
  const hibernate = () => portIn(world, 'hibernate')
  const power = (ref: string) => present(portIn(world, 'power').power(callOf(), ref))
  const view = (ref: string) => present(portIn(world, 'guest').guest(callOf(), ref))

  test('a guest that was saved goes on elsewhere where it stopped', async () => {
    const { machine, guest } = await withGuest(world)
    const before = counterOf(await until(() => view(machine.ref), { what: 'the guest' }))
    const state = await made(hibernate().save(callOf(), machine.ref))
    expect((await power(machine.ref)).state).toBe('off')
    const saved = await present(hibernate().saved(callOf(), state))
    expect(saved).toMatchObject({ ref: state, machine: machine.ref, complete: true })
    expect(saved.digest).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(saved.size).toBeGreaterThan(0)
    await done(hibernate().restore(callOf(), state, { host: world.place.otherHost }))
    expect(await power(machine.ref)).toMatchObject({ state: 'on', host: world.place.otherHost })
    const after = await view(machine.ref)
    expect(after.boot_id).toBe(guest.boot_id)
    expect(counterOf(after)).toBeGreaterThanOrEqual(before)
    await hibernate().dropSaved(callOf(), state)
    await hibernate().dropSaved(callOf(), state)
    expect(await hibernate().saved(callOf(), state)).toEqual({ found: false })
  })

  test('a cold start is another run: the counter begins anew', async () => {
    const { machine, guest } = await withGuest(world)
    await done(portIn(world, 'power').stop(callOf(), machine.ref))
    await done(portIn(world, 'power').start(callOf(), machine.ref))
    const again = await until(
      async () => {
        const now = await view(machine.ref)
        return now.agent === 'running' && now
      },
      { what: 'the guest to come up again', withinMs: 60_000 },
    )
    expect(again.boot_id).not.toBe(guest.boot_id)
  })

  test('only what runs can be saved, and only what is off can be woken', async () => {
    const off = await world.machine()
    await expectError(done(hibernate().save(callOf(), off.ref)), { failure: 'refused' })
    await expectError(done(hibernate().save(callOf(), nowhere)), { failure: 'absent' })
    const { machine } = await withGuest(world)
    const state = await made(hibernate().save(callOf(), machine.ref))
    await done(portIn(world, 'power').start(callOf(), machine.ref))
    const woken = done(hibernate().restore(callOf(), state, { host: world.place.host }))
    await expectError(woken, { failure: 'refused' })
    const unknown = done(hibernate().restore(callOf(), 'state-999999999', { host: world.place.host }))
    await expectError(unknown, { failure: 'absent' })
  })

  test('a save that was begun is found by another process', async () => {
    const { machine } = await withGuest(world)
    const task = await hibernate().save(callOf(), machine.ref)
    const found = await present(hibernate().findTask(callOf(), { taskId: task.id }))
    const state = await found.wait(callOf())
    expect((await present(hibernate().saved(callOf(), String(state)))).machine).toBe(machine.ref)
  })
}

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
  if (holdMoves) testAbort(world, holdMoves)
}

/** Of a platform whose moves can be held up, so that one is seen under way. */
const testAbort = (
  world: PlatformUnderTest,
  holdMoves: (machine: string, at: number | null) => Promise<void>,
): void => {
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

export const testGuest = (world: PlatformUnderTest): void => {
  const guest = () => portIn(world, 'guest')

  test('sees a running guest from outside, and nothing of one that is off', async () => {
    const { machine, guest: view } = await withGuest(world)
    expect(view.hostname).not.toBe('')
    for (const { address } of view.addresses) expect(address).toMatch(/^[0-9a-f.:]+$/)
    await done(portIn(world, 'power').stop(callOf(), machine.ref))
    const off = await present(guest().guest(callOf(), machine.ref))
    expect(off.agent).not.toBe('running')
    expect(off.counter).toBeNull()
    expect(await guest().guest(callOf(), nowhere)).toEqual({ found: false })
  })
}

export const testPorts = (world: PlatformUnderTest): void => {
  const guest = () => portIn(world, 'guest')

  test('tells which ports answer, of those asked for and no others', async () => {
    const { machine } = await withGuest(world)
    const open = await present(guest().openPorts(callOf(), machine.ref, [1, 22, 443, 65_000]))
    expect(open.length).toBeGreaterThan(0)
    expect([1, 22, 443, 65_000]).toEqual(expect.arrayContaining([...open]))
    const closed = [1, 22, 443, 65_000].filter((port) => !open.includes(port))
    expect(await present(guest().openPorts(callOf(), machine.ref, closed))).toEqual([])
    await done(portIn(world, 'power').stop(callOf(), machine.ref))
    expect(await present(guest().openPorts(callOf(), machine.ref, open))).toEqual([])
    expect(await guest().openPorts(callOf(), nowhere, [22])).toEqual({ found: false })
  })
}
