import { expect, test } from 'vitest'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import { hostHints } from '../../../src/migration/place/choose-host.ts'
import { entryOf, eventsOfEntry } from '../../support/entry-world.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { instanceOf, siteOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { codesOf, fittingScript, oursOf, setBatch, waitingEntry } from '../../support/placing.ts'
import { createPlacing } from '../../support/placing-worker.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
const { world, place } = await createPlacing(db, lab)

/** What the lab shows of a machine of the target. */
const machineOf = async (ref: string | null) => {
  const { json } = await world.to.call(`GET /instances/${ref}`)
  return (json as { facts: InstanceFacts }).facts
}

test('an instance is placed by defaults and script, and its machine is made with its disks', async () => {
  await setBatch(world, { config: { placement_scriptlet: fittingScript } })
  const id = await waitingEntry(world, 'vm-103')
  const job = await place(id)
  expect(job).toMatchObject({ state: 'succeeded', result: { target: 'cloud', kept: false } })
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({
    state: 'idle',
    stage: 'background',
    jobId: null,
    tries: 0,
    targetId: world.target.id,
  })
  expect(await oursOf(world, id)).toEqual([entry.machineRef])
  const facts = await machineOf(entry.machineRef)
  expect(facts).toMatchObject({ name: 'db-01', power_state: 'off' })
  expect(facts.disks.map(({ datastore }) => datastore)).toEqual(['ceph', 'ceph'])
  expect(facts.nics.map(({ network }) => network)).toEqual(['bridge-shop'])
  const disks = await listEntryDisks(db, id)
  expect(disks.map(({ disk, targetDisk, changeId }) => [disk, targetDisk, changeId])).toEqual(
    facts.disks.map(({ key }) => [key, key, null]),
  )
  expect(entry.placement).toMatchObject({
    target: 'cloud',
    why: expect.arrayContaining([
      { what: 'target', value: 'cloud', because: 'the defaults of the batch' },
      expect.objectContaining({ value: 'ceph', because: 'the placement script' }),
    ]),
  })
  expect(await checkInvariants(db)).toEqual([])
})

test('whatever keeps it from its place is listed whole, and it is looked at again later', async () => {
  await setBatch(world, {
    defaults: { placement: { target: 'cloud', storage_pool: 'nowhere', target_project: 'none' } },
  })
  const id = await waitingEntry(world, 'vm-101')
  expect(await place(id)).toMatchObject({ state: 'succeeded', result: { log: [] } })
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'blocked', jobId: null, tries: 1, placement: null, machineRef: null })
  expect(codesOf(entry)).toEqual(expect.arrayContaining(['project-absent', 'network-absent', 'pool-absent']))
  expect(entry.lookAt.getTime()).toBeGreaterThan(entry.updatedAt.getTime())
  expect(await oursOf(world, id)).toEqual([])
})

test('the mapping of a network by a person is followed, and the reason is kept', async () => {
  await setBatch(world, {})
  const instance = await instanceOf(db, world.source.name, 'vm-102')
  const [network = ''] = instance.facts.nics.map((nic) => nic.network_ref)
  const map = (overrides: Record<string, string>) => db`
    update network set overrides = ${JSON.stringify(overrides)}::text::jsonb
    where site_id = ${world.source.id}::uuid and ref = ${network}`
  const id = await waitingEntry(world, 'vm-102')
  await place(id)
  expect(codesOf(await entryOf(db, id))).toEqual(['network-absent'])
  await map({ network: 'bridge-shop', nictype: 'bridged', vlan_id: '10' })
  await place(id)
  await map({})
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'idle', tries: 0, reasons: [] })
  expect(entry.placement?.why).toContainEqual(
    expect.objectContaining({ value: 'bridge-shop (bridged, VLAN 10)', because: 'a mapping of its network' }),
  )
  expect(await eventsOfEntry(db, id)).toEqual([
    'entry.block',
    'entry.unblock',
    'entry.create',
    'entry.created',
  ])
})

test('a script that fails blocks its own instance with the line, and its log is told', async () => {
  const script = "function placement({ name }) {\n  log('at', name)\n  setPool('no such disk', 'ceph')\n}"
  await setBatch(world, { config: { placement_scriptlet: script } })
  const id = await waitingEntry(world, 'vm-104')
  expect(await place(id)).toMatchObject({ state: 'succeeded', result: { log: ['at cache-01'] } })
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'blocked', reason: 'placement-script-failed' })
  expect(entry.message).toMatch(/setPool: the instance has no disk "no such disk".*\(line 3, column 3\)/)
  await place(id)
  expect(await entryOf(db, id)).toMatchObject({ state: 'blocked', tries: 2 })
})

test('a script may send it to another target, which must be there', async () => {
  const script = "function placement() { setTarget('elsewhere') }"
  await setBatch(world, { config: { placement_scriptlet: script } })
  const id = await waitingEntry(world, 'vm-104')
  await place(id)
  expect(codesOf(await entryOf(db, id))).toContain('target-absent')
})

test('while it is copied it is on the migration network of its target and project, and on no other', async () => {
  const migration = (network: string) => ({
    defaults: { migration_network: [{ network, nictype: 'managed', target: 'cloud' }] },
    config: { placement_scriptlet: fittingScript },
  })
  const id = await waitingEntry(world, 'vm-105')
  await setBatch(world, migration('not-there'))
  await place(id)
  expect(codesOf(await entryOf(db, id))).toEqual(['network-absent'])
  await setBatch(world, migration('overlay'))
  await place(id)
  const entry = await entryOf(db, id)
  const facts = await machineOf(entry.machineRef)
  expect(facts.nics.map(({ network }) => network)).toEqual(['overlay'])
  const [mac = ''] = facts.nics.map((nic) => nic.mac)
  expect(Object.keys((entry.placement?.networks ?? {}) as object)).not.toContain(mac)
})

test('instances that ask for it are spread over hosts, or kept together', async () => {
  await setBatch(world, { config: { placement_scriptlet: fittingScript } })
  const hostsOf = async (attribute: string, refs: readonly string[]) => {
    const ids = await Promise.all(
      refs.map((ref) => waitingEntry(world, ref, { attributes: { [attribute]: 'group-1' } })),
    )
    await Promise.all(ids.map((id) => place(id)))
    return Promise.all(ids.map(async (id) => (await entryOf(db, id)).placement?.host))
  }
  const spread = await hostsOf(hostHints.spread, ['vm-106', 'vm-107', 'vm-108'])
  expect([...spread].sort()).toEqual(['node-1', 'node-2', 'node-3'])
  const together = await hostsOf(hostHints.together, ['vm-109', 'vm-110', 'vm-111'])
  expect(new Set(together).size).toBe(1)
  expect(together[0]).toMatch(/^node-/)
})

test('a sync of the target that has just been serves as the look at it', async () => {
  await setBatch(world, {
    config: { placement_scriptlet: fittingScript, instance_restriction_overrides: { allow_no_ipv4: true } },
  })
  await world.inventory.sync(world.target.name, { role: 'target' })
  expect((await siteOf(db, world.target.name)).syncedAt).not.toBeNull()
  await lab.admin('POST /lab/faults', { kind: 'error', site: 'cloud', call: 'inventory' })
  const id = await waitingEntry(world, 'vm-112')
  await place(id)
  await lab.admin('DELETE /lab/faults')
  expect(await entryOf(db, id)).toMatchObject({ state: 'idle', reasons: [] })
})
