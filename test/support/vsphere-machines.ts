import { randomUUID } from 'node:crypto'
import { openHttp } from '../../src/platforms/http/platform-http.ts'
import type { Call } from '../../src/platforms/ports/call.ts'
import type { NewMachine } from '../../src/platforms/ports/machines.ts'
import { type Platform, portOf } from '../../src/platforms/ports/ports.ts'
import { configSpec } from '../../src/platforms/vsphere/machines/machines-spec.ts'
import { machineRef } from '../../src/platforms/vsphere/soap/machines-reading.ts'
import { Session } from '../../src/platforms/vsphere/soap/session.ts'
import { wrap } from '../../src/platforms/vsphere/soap/soap-request.ts'
import { openVsphere } from '../../src/platforms/vsphere/vsphere.ts'
import { atEnd } from './cleanup.ts'
import { startVcsim, type Vcsim, type VcsimOptions } from './vcsim.ts'

/** A simulated vCenter and all ports of it that change something. */
export interface VsphereWorld {
  readonly vcsim: Vcsim
  readonly platform: Platform
  readonly ports: ReturnType<typeof portsOf>
}

/** The folder of machines in the simulator's data centre. */
export const vmFolder = '/DC0/vm'

export const startVsphere = async (options: VcsimOptions = {}): Promise<VsphereWorld> => {
  const vcsim = await startVcsim({ vms: 1, hosts: 1, ...options })
  const platform = openTestVsphere(vcsim)
  return { vcsim, platform, ports: portsOf(platform) }
}

/** Another client of the same simulator; with an address, by way of a proxy. */
export const openTestVsphere = (vcsim: Vcsim, endpoint = vcsim.url): Platform => {
  const platform = openVsphere({ ...vcsim.connection, endpoint })
  atEnd(() => platform.close())
  return platform
}

export const portsOf = (platform: Platform) => ({
  power: portOf(platform, 'power'),
  machines: portOf(platform, 'machines'),
  disks: portOf(platform, 'disks'),
  templates: portOf(platform, 'templates'),
  guest: portOf(platform, 'guest'),
})

export const callNamed = (name: string, over: Partial<Call> = {}): Call => ({
  signal: new AbortController().signal,
  timeoutMs: 60_000,
  name,
  ...over,
})

/** Each call by itself; where the name matters, `callNamed` gives it. */
export const anyCall = (): Call => callNamed(randomUUID())

export const newMachine = (over: Partial<NewMachine> = {}): NewMachine => ({
  machineName: `made-${randomUUID().slice(0, 8)}`,
  project: '',
  host: '',
  folder: vmFolder,
  cpus: 2,
  memory: 512 * 1024 ** 2,
  uuid: '',
  legacyBoot: false,
  secureBoot: false,
  nics: [],
  disks: [],
  owner: { drover: 'test' },
  ...over,
})

/** A machine of our own, off, with its ref. */
export const makeMachine = async (
  ports: VsphereWorld['ports'],
  over: Partial<NewMachine> = {},
): Promise<string> => {
  const task = await ports.machines.create(anyCall(), newMachine(over))
  const ref = await task.wait(anyCall())
  if (ref === null) throw new Error('The simulator made a machine and gave no ref.')
  return ref
}

/** Facts that only the simulator lets be set, such as what the tools in a guest say. */
export const setSimulated = async (
  world: Pick<VsphereWorld, 'vcsim'>,
  machine: string,
  facts: Readonly<Record<string, string>>,
): Promise<void> => {
  const extraConfig = Object.fromEntries(Object.entries(facts).map(([path, value]) => [`SET.${path}`, value]))
  await writeExtraConfig(world, machine, extraConfig)
}

/** As anybody may who administers the machine. */
export const writeExtraConfig = async (
  { vcsim }: Pick<VsphereWorld, 'vcsim'>,
  machine: string,
  extraConfig: Readonly<Record<string, string>>,
): Promise<void> => {
  const http = openHttp(vcsim.connection)
  const session = new Session(http, vcsim.connection)
  const body = wrap('spec', configSpec({ extraConfig }))
  await session.call(anyCall(), { on: machineRef(machine), method: 'ReconfigVM_Task', body })
  await session.logout()
  http.close()
}
