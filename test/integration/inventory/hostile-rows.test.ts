import { expect, test } from 'vitest'
import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import type { InventoryItem } from '../../../src/platforms/ports/inventory.ts'
import { hostileNumbers, hostileWords, incompressible, plainLine } from '../../support/hostile-words.ts'
import {
  hostFacts,
  ImaginedSite,
  networkFacts,
  platformProblem,
  storageFacts,
} from '../../support/imagined-site.ts'
import { createInventoryWorker, instancesOf, makeSite, siteOf, warningsOf } from '../../support/inventory.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

/** Everything that a machine can say of itself is this word. */
const calling = (ref: string, word: string): Partial<InstanceFacts> & { ref: string } => ({
  ref,
  ...{
    name: word,
    location: word,
    description: word,
    uuid: word,
    bios_uuid: word,
    os: word,
    os_description: word,
  },
  ...{
    os_template: word,
    architecture: word,
    hardware_version: word,
    cluster: word,
    host: word,
    folder: word,
  },
  ...{ datacenter: word, resource_pool: word, tags: { [word]: [word, word] }, attributes: { [word]: word } },
  guest: { agent: 'running', agent_version: word, hostname: word },
  snapshots: [{ ref: word, name: word, created_at: word, memory: false, parent: word }],
  devices: [{ kind: 'usb', label: word, connected: true }],
})

/** A world of one platform that says what the test wants, item by item. */
class SayingSite extends ImaginedSite {
  readonly said: readonly InventoryItem[]
  constructor(said: readonly InventoryItem[]) {
    super()
    this.said = said
  }

  override readonly open = () => {
    const platform = new ImaginedSite().open()
    const said = this.said
    const scan = async function* () {
      for (let at = 0; at < said.length; at += 100) yield said.slice(at, at + 100)
      return { cursor: null }
    }
    const identity = this.identity
    const inventory = { ...platform.ports.inventory, scan, instance: async () => ({ found: false as const }) }
    return { ...platform, probe: async () => identity, ports: { inventory } } as ReturnType<
      ImaginedSite['open']
    >
  }
}

const wide = incompressible(5_000)

test.each(['source', 'target'] as const)(
  'a %s whose things say anything is recorded, bounded, and nothing of it is refused by the database',
  async (role) => {
    const world = new ImaginedSite()
    const words = [...Object.values(hostileWords), wide]
    for (const [index, word] of words.entries()) world.put(calling(`vm-${role}-${index}`, word))
    for (const [index, number] of hostileNumbers.entries())
      world.put({ ref: `vm-${role}-n${index}`, cpus: number, memory: number, disks: [] })
    for (const [index, word] of words.entries()) {
      world.networks.set(word, {
        ...networkFacts,
        ref: `n-${index}${wide}`.slice(0, 500),
        name: word,
        location: word,
        vlan: word,
        switch: word,
      })
      world.hosts.set(word, { ...hostFacts, ref: `h-${index}`, name: word, cluster: word, version: word })
      world.storage.set(word, { ...storageFacts, ref: `s-${index}`, name: word, hosts: [word], free: -1 })
    }
    await makeSite(db, { name: `odd-${role}`, role, connectivity: 'ok' })
    const { state, error } = await createInventoryWorker(db, world.open).sync(`odd-${role}`, { role })
    expect([state, error]).toEqual(['succeeded', {}])
    for (const { messages } of await warningsOf(db, `odd-${role}`)) {
      expect(messages.length).toBeLessThanOrEqual(51)
      for (const { text } of messages) expect(text).toMatch(plainLine)
    }
    if (role === 'source')
      expect(await instancesOf(db, 'odd-source')).toHaveLength(words.length + hostileNumbers.length)
  },
)

test('things without an id, or with one that no row can have, are told of, and the others are recorded', async () => {
  const long = incompressible(3_000)
  const error = platformProblem('platform-fault')
  const world = new SayingSite([
    { type: 'instance', facts: { ...(await factsOf('vm-plain')), name: 'plain' } },
    { type: 'instance', facts: { ...(await factsOf(long)), name: 'long' } },
    { type: 'instance', facts: { ...(await factsOf('')), name: 'none' } },
    { type: 'host', facts: { ...hostFacts, ref: long } },
    { type: 'project', facts: { ref: long, name: long, limits: {}, used: {} } },
    {
      type: 'project',
      facts: { ref: 'p-1', name: long, limits: { [long]: Number.NaN }, used: { '\0': 1e308 } },
    },
    { type: 'problem', of: 'instance', ref: long, name: long, error },
    { type: 'problem', of: 'host', ref: long, name: `${long}\0`, error },
    { type: 'gone', of: 'instance', ref: long },
  ])
  await makeSite(db, { name: 'nameless', connectivity: 'ok' })
  const { state, error: why } = await createInventoryWorker(db, world.open).sync('nameless')
  expect([state, why]).toEqual(['succeeded', {}])
  expect((await instancesOf(db, 'nameless')).map(({ name }) => name)).toEqual(['plain'])
  const said = JSON.stringify(await warningsOf(db, 'nameless'))
  expect(said).toContain('no id')
  expect(said).toContain('3000 characters')
})

test('who says of itself what no line holds is kept in a line, and is still the same the next time', async () => {
  const world = new ImaginedSite()
  world.put({ ref: 'vm-1' })
  const word = `\u001b[2J\u202e\0${wide}`
  world.identity = { product: word, version: word, instance_id: word }
  await makeSite(db, { name: 'loud' })
  const worker = createInventoryWorker(db, world.open)
  await worker.run('check-connection', { role: 'source', name: 'loud' })
  const { identity, connectivity } = await siteOf(db, 'loud')
  expect(connectivity).toBe('ok')
  for (const text of Object.values(identity ?? {})) {
    expect(text).toMatch(plainLine)
    expect(text.length).toBeLessThanOrEqual(201)
  }
  expect((await worker.sync('loud')).state).toBe('succeeded')
})

test('a platform that tells of more things than there can be fails alone, and the others are read', async () => {
  const facts = await factsOf('vm-0')
  const world = new ImaginedSite()
  const thing = { type: 'gone' as const, of: 'instance' as const, ref: 'x'.repeat(600) }
  const endless = async function* () {
    for (;;) yield Array.from({ length: 5_000 }, () => thing)
  }
  const open = () => {
    const platform = world.open()
    return {
      ...platform,
      ports: { inventory: { ...platform.ports.inventory, scan: endless } },
    } as unknown as ReturnType<ImaginedSite['open']>
  }
  await makeSite(db, { name: 'endless', connectivity: 'ok' })
  const failed = await createInventoryWorker(db, open).sync('endless')
  expect(failed.error).toMatchObject({ code: 'platform-answer-invalid', class: 'environment' })
  expect(String(failed.error.message)).toContain('endless')
  const quiet = new ImaginedSite()
  quiet.put(facts)
  await makeSite(db, { name: 'neighbour', connectivity: 'ok' })
  expect((await createInventoryWorker(db, quiet.open).sync('neighbour')).state).toBe('succeeded')
})

const factsOf = async (ref: string): Promise<InstanceFacts> => {
  const world = new ImaginedSite()
  world.put({ ref: 'vm-77' })
  const facts = world.instances.get('vm-77')
  if (!facts) throw new Error('It was just put there.')
  return { ...facts, ref }
}
