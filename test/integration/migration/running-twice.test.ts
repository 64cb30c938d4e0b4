import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { countRunningTwice } from '../../../db/queries/instances/find-running-twice.ts'
import { entryOf } from '../../support/entry-world.ts'
import { eventsOf, instanceOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)

const told = async (site: string) => {
  const [row] = await db<{ messages: { text: string }[] }[]>`
    select messages from warning where type = 'running-twice' and entity_id = ${site}`
  return row?.messages.map(({ text }) => text) ?? []
}
const syncSource = () => world.inventory.sync('vc')
const syncTarget = () => world.inventory.sync('cloud', { role: 'target' })

// promise: runs-twice-alarm
test('a migrated machine and its source that both run are an alarm within one sync, whoever started them', async () => {
  const { id } = await world.ready('vm-101')
  await world.verify(id)
  const { machineRef } = await entryOf(db, id)
  await syncTarget()
  await syncSource()
  expect(await told('vc')).toEqual([])
  expect(await told('cloud')).toEqual([])
  await db`delete from entry where id = ${id}::uuid`
  await world.from.done('POST /instances/vm-101/power', { verb: 'start' })
  await syncSource()
  const [alarm] = await told('vc')
  expect(alarm).toContain('One VM runs twice')
  expect(alarm).toContain(`${machineRef}) of cloud`)
  expect(await eventsOf(db, 'vc')).toContain('warning.raised')
  await syncTarget()
  expect((await told('cloud'))[0]).toContain('vm-101) of vc')
  expect(await countRunningTwice(db)).toBe(1)
  await world.from.done('POST /instances/vm-101/power', { verb: 'stop' })
  await syncTarget()
  expect(await told('cloud')).toEqual([])
  await syncSource()
  expect(await countRunningTwice(db)).toBe(0)
})

test('old news of a machine that was switched off since is no alarm', async () => {
  const { uuid } = await instanceOf(db, 'vc', 'vm-102')
  await world.to.done('POST /instances', {
    ...{ name: 'twin', project: 'default', host: '', folder: '', cpus: 1, memory: 1024 ** 3, uuid },
    ...{ legacy_boot: false, secure_boot: false, nics: [], disks: [], owner: {} },
  })
  await syncTarget()
  const [{ ref } = { ref: '' }] = await db`select ref from machine where name = 'twin'`
  await world.to.done(`POST /instances/${ref}/power`, { verb: 'start' })
  await world.from.done('POST /instances/vm-102/power', { verb: 'stop' })
  await syncTarget()
  expect((await instanceOf(db, 'vc', 'vm-102')).facts.power_state).toBe('on')
  expect(await told('cloud')).toEqual([])
})

// promise: runs-twice-alarm
test('two machines of different places with one MAC address that both run are an alarm too', async () => {
  const { facts } = await instanceOf(db, 'vc', 'vm-104')
  expect(facts.power_state).toBe('on')
  const mac = facts.nics[0]?.mac ?? ''
  await world.to.done('POST /instances', {
    ...{
      name: 'same-mac',
      project: 'default',
      host: '',
      folder: '',
      cpus: 1,
      memory: 1024 ** 3,
      uuid: uuidv7(),
    },
    ...{ legacy_boot: false, secure_boot: false, disks: [], owner: {} },
    nics: [{ mac, network: 'overlay', type: 'managed', vlan: '' }],
  })
  await syncTarget()
  const [{ ref } = { ref: '' }] = await db`select ref from machine where name = 'same-mac'`
  expect(await told('cloud')).toEqual([])
  await world.to.done(`POST /instances/${ref}/power`, { verb: 'start' })
  await syncTarget()
  expect((await told('cloud')).join()).toContain(`MAC address ${mac}`)
})
