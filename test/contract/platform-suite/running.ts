import { expect, test } from 'vitest'
import type { GuestView } from '../../../src/platforms/ports/guest.ts'
import { until } from '../../support/wait.ts'
import {
  callOf,
  done,
  expectError,
  made,
  nowhere,
  type PlatformUnderTest,
  portIn,
  present,
  runningMachine,
  type TestMachine,
} from './world.ts'

/** A machine whose guest has come up. */
export const withGuest = async (
  world: PlatformUnderTest,
): Promise<{ machine: TestMachine; guest: GuestView }> => {
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

export const counterOf = (guest: GuestView): number => {
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
