import { expect, test } from 'vitest'
import { portOf } from '../../src/platforms/ports/ports.ts'
import type { NewImage } from '../../src/platforms/ports/templates.ts'
import { testOvf } from '../support/test-ovf.ts'
import { anyCall, makeMachine, newMachine, startVsphere } from '../support/vsphere-machines.ts'

const { platform, ports } = await startVsphere({ esx: true })
const folder = '/ha-datacenter/vm'

test('a single ESXi host makes, starts, changes, snapshots and removes machines as a vCenter does', async () => {
  const nics = [{ mac: '00:50:56:00:00:09', network: 'VM Network', type: 'managed', vlan: '' }] as const
  const machine = await makeMachine(ports, {
    folder,
    nics,
    disks: [{ key: 'a', capacity: 1024 ** 2, pool: '' }],
  })
  const inventory = portOf(platform, 'inventory')
  const facts = await inventory.instance(anyCall(), machine)
  expect(facts.found && facts.value).toMatchObject({
    nics: [{ mac: '00:50:56:00:00:09', network: 'VM Network' }],
    disks: [{ capacity: 1024 ** 2 }],
  })
  expect(await ports.machines.owner(anyCall(), machine)).toMatchObject({ value: { drover: 'test' } })
  await (await ports.power.start(anyCall(), machine)).wait(anyCall())
  const shot = { snapshotName: 'one', memory: false, quiesce: false }
  const snapshot = await (await ports.machines.createSnapshot(anyCall(), machine, shot)).wait(anyCall())
  await (await ports.machines.removeSnapshot(anyCall(), machine, String(snapshot))).wait(anyCall())
  await (await ports.power.stop(anyCall(), machine)).wait(anyCall())
  await (await ports.machines.reconfigure(anyCall(), machine, { cpus: 3 })).wait(anyCall())
  await (await ports.machines.destroy(anyCall(), machine)).wait(anyCall())
  expect(await ports.power.power(anyCall(), machine)).toEqual({ found: false })
})

test('a single ESXi host refuses clones and templates before anything of them is begun', async () => {
  const machine = await makeMachine(ports, { folder })
  const wanted: NewImage = {
    ...newMachine({ folder }),
    templateName: 'image',
    pool: '',
    network: '',
    ovf: testOvf([]),
    disks: [],
    owner: { drover: 'refused' },
  }
  const to = { machineName: 'clone', folder, owner: wanted.owner }
  for (const attempt of [
    () => ports.machines.clone(anyCall(), machine, to),
    () => ports.templates.markTemplate(anyCall(), machine),
    () => ports.templates.importImage(anyCall(), wanted, () => undefined),
  ])
    await expect(attempt()).rejects.toMatchObject({ code: 'platform-unsupported', failure: 'unsupported' })
  expect(await ports.machines.findOwned(anyCall(), wanted.owner)).toEqual([])
})

test('a single ESXi host finds its only folder by itself and has no custom attributes', async () => {
  const machine = await makeMachine(ports, { folder: '' })
  await expect(
    ports.machines.reconfigure(anyCall(), machine, { attributes: { note: 'x' } }),
  ).rejects.toMatchObject({ code: 'platform-unsupported', failure: 'unsupported' })
})
