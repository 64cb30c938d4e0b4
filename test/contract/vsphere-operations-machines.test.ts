import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { portOf } from '../../src/platforms/ports/ports.ts'
import { startSoapProxy } from '../support/soap-proxy.ts'
import {
  anyCall,
  callNamed,
  makeMachine,
  newMachine,
  openTestVsphere,
  portsOf,
  startVsphere,
  vmFolder,
  writeExtraConfig,
} from '../support/vsphere-machines.ts'
import { until } from '../support/wait.ts'

const { vcsim, ports } = await startVsphere({ methodDelayMs: { CreateVM_Task: 20, ReconfigVM_Task: 10 } })
const { machines, power } = ports

const inventory = portOf(openTestVsphere(vcsim), 'inventory')
const factsOf = async (machine: string) => {
  const facts = await inventory.instance(anyCall(), machine)
  if (!facts.found) throw new Error(`${machine} is gone.`)
  return facts.value
}

test('a machine is made as it was asked for, with its disks, cards and owner', async () => {
  const uuid = randomUUID()
  const owner = { drover: 'test', entry: randomUUID() }
  const machine = await makeMachine(ports, {
    machineName: 'web-01',
    uuid,
    owner,
    disks: [
      { key: 'a', capacity: 3 * 1024 ** 3, pool: 'LocalDS_0' },
      { key: 'b', capacity: 64 * 1024 ** 2, pool: '' },
    ],
    nics: [
      { mac: '00:50:56:00:00:01', network: 'VM Network', type: 'managed', vlan: '' },
      { mac: '', network: 'DC0_DVPG0', type: 'managed', vlan: '' },
    ],
  })
  expect(await factsOf(machine)).toMatchObject({
    name: 'web-01',
    uuid,
    cpus: 2,
    memory: 512 * 1024 ** 2,
    legacy_boot: false,
    location: '/DC0/vm/web-01',
    disks: [{ capacity: 3 * 1024 ** 3 }, { capacity: 64 * 1024 ** 2 }],
    nics: [{ mac: '00:50:56:00:00:01', network: 'VM Network' }, { network: 'DC0_DVPG0' }],
  })
  expect(await machines.owner(anyCall(), machine)).toEqual({ found: true, value: owner })
  expect(await machines.findOwned(anyCall(), { entry: owner.entry })).toEqual([machine])
  expect(await machines.findOwned(anyCall(), { entry: 'nobody' })).toEqual([])
})

test('a machine whose answer was lost is adopted by the same call and never made twice', async () => {
  const proxy = await startSoapProxy(vcsim.url)
  const behind = portsOf(openTestVsphere(vcsim, proxy.url)).machines
  const wanted = newMachine({ owner: { drover: randomUUID() } })
  const call = callNamed(`create-${randomUUID()}`)
  proxy.loseAnswer('CreateVM_Task')
  await expect(behind.create(call, wanted)).rejects.toMatchObject({ failure: 'unknown' })
  const found = await machines.findTask(anyCall(), { name: call.name })
  if (!found.found) throw new Error('What the call made was not found by its name.')
  const adopted = await behind.create(call, wanted)
  expect(await adopted.wait(anyCall())).toBe(await found.value.wait(anyCall()))
  expect(await machines.findOwned(anyCall(), wanted.owner)).toHaveLength(1)
  expect(proxy.seen.filter((method) => method === 'CreateVM_Task')).toHaveLength(1)
  const again = await machines.findTask(anyCall(), { taskId: adopted.id })
  expect(again.found && (await again.value.status(anyCall()))).toMatchObject({ state: 'succeeded' })
})

test('a server that is slower than the deadline of the whole verb is unknown, and the same call adopts', async () => {
  const slow = await startVsphere({ methodDelayMs: { CreateVM_Task: 10_000 } })
  const wanted = newMachine({ owner: { drover: randomUUID() } })
  const name = `create-${randomUUID()}`
  await slow.ports.machines.findOwned(anyCall(), wanted.owner)
  // Long enough for all that comes before the call that is slow, and far shorter than that one.
  const hasty = callNamed(name, { timeoutMs: 5_000 })
  await expect(slow.ports.machines.create(hasty, wanted)).rejects.toMatchObject({
    code: 'platform-timeout',
    failure: 'unknown',
  })
  const task = await until(
    async () => {
      const found = await slow.ports.machines.findTask(anyCall(), { name })
      return found.found && found.value
    },
    { what: 'the machine to be found by the name of the call', withinMs: 30_000 },
  )
  const ref = await (await slow.ports.machines.create(callNamed(name), wanted)).wait(anyCall())
  expect(await task.wait(anyCall())).toBe(ref)
  expect(await slow.ports.machines.findOwned(anyCall(), wanted.owner)).toEqual([ref])
})

test('many quick answers together may not take longer than the deadline either', async () => {
  const slow = await startVsphere({ delayMs: 150 })
  const wanted = newMachine({ owner: { drover: randomUUID() } })
  await expect(
    slow.ports.machines.create(callNamed('late', { timeoutMs: 600 }), wanted),
  ).rejects.toMatchObject({ code: 'platform-timeout' })
  expect(await slow.ports.machines.findOwned(anyCall(), wanted.owner)).toEqual([])
})

test('a name that somebody else has is taken, for a new machine, a clone and a new name', async () => {
  const holder = await makeMachine(ports)
  const { name } = await factsOf(holder)
  const taken = { code: 'platform-name-taken', failure: 'refused' }
  await expect(machines.create(anyCall(), newMachine({ machineName: name }))).rejects.toMatchObject(taken)
  const other = await makeMachine(ports)
  const to = { machineName: name, folder: vmFolder, owner: {} }
  await expect(machines.clone(anyCall(), other, to)).rejects.toMatchObject(taken)
  await expect(machines.rename(anyCall(), other, name)).rejects.toMatchObject(taken)
  expect(await machines.owner(anyCall(), holder)).toMatchObject({ value: { drover: 'test' } })
})

test('two that want one name at once: one has it, and the other hears that it is taken', async () => {
  const both = [await makeMachine(ports), await makeMachine(ports)]
  const wanted = `wanted-${randomUUID()}`
  const ends = await Promise.allSettled(
    both.map(async (machine) => (await machines.rename(anyCall(), machine, wanted)).wait(anyCall())),
  )
  const refused = ends.filter((end) => end.status === 'rejected')
  expect(refused).toHaveLength(1)
  expect(refused[0]?.reason).toMatchObject({ code: 'platform-name-taken', failure: 'refused' })
})

test('a renamed machine keeps its ref, and the same renaming again changes nothing', async () => {
  const machine = await makeMachine(ports)
  const name = `new/na%me\\${randomUUID().slice(0, 8)}`
  await (await machines.rename(anyCall(), machine, name)).wait(anyCall())
  expect((await factsOf(machine)).name).toBe(name)
  expect(await (await machines.rename(anyCall(), machine, name)).wait(anyCall())).toBe(machine)
})

test('a machine is changed in size, identity, words, tracking and attributes', async () => {
  const machine = await makeMachine(ports)
  const uuid = randomUUID()
  const change = {
    cpus: 4,
    memory: 1024 ** 3,
    uuid,
    description: 'a <b> & "c"',
    changeTracking: true,
    attributes: { 'drover batch': 'first', 'drover note': 'x < y' },
  }
  await (await machines.reconfigure(anyCall(), machine, change)).wait(anyCall())
  expect(await factsOf(machine)).toMatchObject({
    cpus: 4,
    memory: 1024 ** 3,
    uuid,
    description: 'a <b> & "c"',
    background_import: true,
    attributes: expect.objectContaining({ 'drover batch': 'first', 'drover note': 'x < y' }) as unknown,
  })
  await (await machines.reconfigure(anyCall(), machine, { changeTracking: false })).wait(anyCall())
  expect((await factsOf(machine)).background_import).toBe(false)
  const nothing = await machines.reconfigure(anyCall(), machine, {})
  expect(await nothing.wait(anyCall())).toBe(machine)
})

test('new cards take the place of all old ones', async () => {
  const nic = { network: 'VM Network', type: 'managed', vlan: '' } as const
  const machine = await makeMachine(ports, { nics: [{ ...nic, mac: '00:50:56:00:01:01' }] })
  const nics = ['00:50:56:00:01:02', '00:50:56:00:01:03'].map((mac) => ({ ...nic, mac }))
  await (await machines.reconfigure(anyCall(), machine, { nics })).wait(anyCall())
  expect((await factsOf(machine)).nics.map(({ mac }) => mac)).toEqual(nics.map(({ mac }) => mac))
})

test('a clone has an owner of its own, and a clone whose answer was lost is adopted', async () => {
  const original = await makeMachine(ports, { owner: { drover: 'original' } })
  const proxy = await startSoapProxy(vcsim.url)
  const behind = portsOf(openTestVsphere(vcsim, proxy.url)).machines
  const to = {
    machineName: `clone-${randomUUID()}`,
    folder: vmFolder,
    owner: { drover: 'clone', id: randomUUID() },
  }
  const call = callNamed(`clone-${randomUUID()}`)
  proxy.loseAnswer('CloneVM_Task')
  await expect(behind.clone(call, original, to)).rejects.toMatchObject({ failure: 'unknown' })
  const ref = await (await behind.clone(call, original, to)).wait(anyCall())
  expect(await machines.findOwned(anyCall(), to.owner)).toEqual([ref])
  expect(proxy.seen.filter((method) => method === 'CloneVM_Task')).toHaveLength(1)
  expect(await machines.owner(anyCall(), original)).toMatchObject({ value: { drover: 'original' } })
})

test('a tag makes a machine ours, and what a stranger wrote in its place is no owner', async () => {
  const machine = await makeMachine(ports, { owner: {} })
  expect(await machines.findOwned(anyCall(), {})).not.toContain(machine)
  await machines.tag(anyCall(), machine, { drover: 'adopted' })
  await machines.tag(anyCall(), machine, { entry: '7' })
  const owner = { drover: 'adopted', entry: '7' }
  expect(await machines.owner(anyCall(), machine)).toEqual({ found: true, value: owner })
  for (const text of ['["drover"]', 'no JSON', '{"drover":1}', 'null']) {
    const foreign = await makeMachine(ports, { owner: {} })
    await writeExtraConfig({ vcsim }, foreign, { 'drover.owner': text })
    expect(await machines.owner(anyCall(), foreign)).toEqual({ found: true, value: {} })
  }
  await ports.templates.markTemplate(anyCall(), machine)
  await expect(machines.tag(anyCall(), machine, { drover: 'late' })).rejects.toMatchObject({
    code: 'platform-wrong-state',
  })
  expect(await machines.owner(anyCall(), 'vm-9999')).toEqual({ found: false })
  await expect(machines.tag(anyCall(), 'vm-9999', {})).rejects.toMatchObject({ failure: 'absent' })
})

test('a machine that runs is not removed; one that is off is, and then it is absent', async () => {
  const machine = await makeMachine(ports)
  await (await power.start(anyCall(), machine)).wait(anyCall())
  await expect(machines.destroy(anyCall(), machine)).rejects.toMatchObject({ code: 'platform-wrong-state' })
  await (await power.stop(anyCall(), machine)).wait(anyCall())
  await (await machines.destroy(anyCall(), machine)).wait(anyCall())
  expect(await power.power(anyCall(), machine)).toEqual({ found: false })
  await expect(machines.destroy(anyCall(), machine)).rejects.toMatchObject({ failure: 'absent' })
})

test('what a machine is to be made of and is not there is named, and nothing is made', async () => {
  const owner = { drover: randomUUID() }
  const disk = { key: 'a', capacity: 1024 ** 2 }
  const nic = { mac: '', type: 'managed', vlan: '' } as const
  const wrong = [
    { over: { folder: '/DC0/vm/nowhere' }, named: '/DC0/vm/nowhere' },
    { over: { project: 'no-pool' }, named: 'no-pool' },
    { over: { disks: [{ ...disk, pool: 'no-store' }] }, named: 'no-store' },
    { over: { nics: [{ ...nic, network: 'no-net' }] }, named: 'no-net' },
    { over: { host: 'host-9999' }, named: 'host-9999' },
  ]
  for (const { over, named } of wrong)
    await expect(machines.create(anyCall(), newMachine({ ...over, owner }))).rejects.toMatchObject({
      failure: 'absent',
      message: expect.stringContaining(named) as unknown,
    })
  expect(await machines.findOwned(anyCall(), owner)).toEqual([])
})
