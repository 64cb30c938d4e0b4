import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { openers } from '../../../src/platforms/open.ts'
import type { Call } from '../../../src/platforms/ports/call.ts'
import type { Connection } from '../../../src/platforms/ports/connection.ts'
import type { NewMachine } from '../../../src/platforms/ports/machines.ts'
import {
  type Failure,
  type PlatformCode,
  PlatformError,
} from '../../../src/platforms/ports/platform-error.ts'
import { type Capability, type Platform, type Ports, portOf } from '../../../src/platforms/ports/ports.ts'
import type { Found, TaskHandle } from '../../../src/platforms/ports/task.ts'
import { atEnd } from '../../support/cleanup.ts'
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { settles, until } from '../../support/wait.ts'

/** A machine that belongs to one test alone; it is off. */
export interface TestMachine {
  readonly ref: string
  readonly name: string
  /** Its first disk; asked for only where disks can be read. */
  readonly disk: { readonly key: string; readonly capacity: number }
}

/** Where machines, templates and images may be made. */
export interface Place {
  readonly folder: string
  readonly project: string
  /** Storage, network and host by ref. */
  readonly pool: string
  readonly network: string
  readonly host: string
  /** Where a running machine may be moved to, if anywhere. */
  readonly otherHost: string
}

/** A platform as the suite meets it: what it says it can do, and how to get at machines. */
export interface PlatformUnderTest {
  readonly connection: Connection
  /** Written down apart from the driver, so that a capability that gets lost is noticed. */
  readonly declares: readonly Capability[]
  /** What the driver can do and what stands for the platform here cannot: shown elsewhere, by other means. */
  readonly notSimulated?: readonly Capability[]
  /** Makes, or picks, a machine that no other test has: off; with a guest whose agent runs when it is on. */
  machine(): Promise<TestMachine>
  /** The same without an agent in it, where such machines can be had. */
  readonly machineWithoutAgent?: () => Promise<TestMachine>
  readonly place: Place
  /** Part of the inventory, and whether a location lies in it. */
  readonly scope?: { readonly name: string; readonly holds: (location: string) => boolean }
  /** How a task is found again besides by its id. */
  readonly findsTasksBy: readonly ('name' | 'machine')[]
  /**
   * A repeated call with the same name gives the first answer. Else what it made is found again, or the repeat is
   * refused by the state that it finds.
   */
  readonly remembersNames: boolean
  /** New owners and names are in the next listing at once. */
  readonly levers: {
    /** Ends all sessions, as a restart of the platform does. */
    readonly loseSessions?: () => Promise<void>
    readonly loseCursors?: () => Promise<void>
    /** Live moves of a machine come to this percent and no further, unless they are forced; null: they get done. */
    readonly holdMoves?: (machine: string, at: number | null) => Promise<void>
  }
  readonly patienceMs?: number
}

/** A new platform object, as another process would have it after a crash. */
export const opened = (world: PlatformUnderTest, over: Partial<Connection> = {}): Platform => {
  const connection = { ...world.connection, ...over }
  const platform = openers[connection.kind](connection)
  atEnd(() => platform.close())
  return platform
}

export const portIn = <Name extends keyof Ports>(world: PlatformUnderTest, name: Name): Ports[Name] =>
  portOf(opened(world), name)

/** The platform behind a network that can be broken. */
export const behindProxy = async (
  world: PlatformUnderTest,
): Promise<{ platform: Platform; proxy: TcpProxy }> => {
  const url = new URL(world.connection.endpoint)
  const proxy = await startProxy({ targetPort: Number(url.port) })
  url.port = String(proxy.port)
  return { proxy, platform: opened(world, { endpoint: url.href }) }
}

/** Short names, different in every run: a platform may be older than the run. */
export const newName = (what: string): string => `drv-${what}-${randomBytes(4).toString('hex')}`

export const callOf = (over: Partial<Call> = {}): Call => ({
  signal: new AbortController().signal,
  timeoutMs: 60_000,
  name: newName('call'),
  ...over,
})

/** Starts a task and waits for what it makes. */
export const done = async (task: Promise<TaskHandle>): Promise<string | null> =>
  await (await task).wait(callOf())

export const made = async (task: Promise<TaskHandle>): Promise<string> => {
  const ref = await done(task)
  expect(ref, 'the task says what it made').toMatch(/\S/)
  return ref as string
}

/** The value of a look-up that must find something. */
export const present = async <Value>(look: Promise<Found<Value>>): Promise<Value> => {
  const found = await look
  if (!found.found) throw new Error('A look-up found nothing where there is something.')
  return found.value
}

/** The typed error that a promise must end with, in time. */
export const errorOf = async (promise: Promise<unknown>): Promise<PlatformError> => {
  const outcome = await settles(promise, { what: 'the call to fail', withinMs: 90_000 }).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(outcome).toBeInstanceOf(PlatformError)
  return outcome as PlatformError
}

export const expectError = async (
  promise: Promise<unknown>,
  wanted: { code?: PlatformCode; failure?: Failure },
): Promise<PlatformError> => {
  const error = await errorOf(promise)
  const got = Object.fromEntries(Object.keys(wanted).map((key) => [key, error[key as 'code' | 'failure']]))
  expect(got, error.message).toEqual(wanted)
  expect(error.remedy).not.toBe('')
  return error
}

/** What names nothing on any platform. */
export const nowhere = 'vm-999999999'

export const ownerOf = (): Record<string, string> => ({ drover: newName('owner') })

export const newMachine = (world: PlatformUnderTest, over: Partial<NewMachine> = {}): NewMachine => ({
  machineName: newName('vm'),
  project: world.place.project,
  host: world.place.host,
  folder: world.place.folder,
  cpus: 2,
  memory: 256 * 1024 * 1024,
  uuid: '',
  legacyBoot: true,
  secureBoot: false,
  nics: [],
  disks: [{ key: 'disk-0', capacity: 8 * 1024 * 1024, pool: world.place.pool }],
  owner: ownerOf(),
  ...over,
})

/** A machine of the test's own that runs. */
export const runningMachine = async (world: PlatformUnderTest): Promise<TestMachine> => {
  const machine = await world.machine()
  const power = portIn(world, 'power')
  await done(power.start(callOf(), machine.ref))
  await untilPower(world, machine.ref, 'on')
  return machine
}

export const untilPower = async (world: PlatformUnderTest, machine: string, state: string): Promise<void> => {
  const power = portIn(world, 'power')
  const look = async () => (await present(power.power(callOf(), machine))).state === state
  await until(look, { what: `${machine} to be ${state}`, withinMs: world.patienceMs ?? 60_000 })
}
