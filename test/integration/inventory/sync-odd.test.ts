import { expect, test } from 'vitest'
import { ImaginedSite, platformProblem } from '../../support/imagined-site.ts'
import {
  createInventoryWorker,
  eventsOf,
  instanceOf,
  instancesOf,
  makeSite,
  siteOf,
  warningsOf,
} from '../../support/inventory.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

let made = 0
const setUp = async (count = 4) => {
  made += 1
  const name = `vc-${made}`
  const world = new ImaginedSite()
  const base = made * 1_000
  const ref = (index: number) => `vm-${base + index}`
  for (let index = 1; index <= count; index += 1) world.put({ ref: ref(index) })
  await makeSite(db, { name, connectivity: 'ok' })
  return { name, world, ref, worker: createInventoryWorker(db, world.open) }
}

const saidOf = async (name: string) =>
  Object.fromEntries(
    (await warningsOf(db, name)).map((row) => [row.type, row.messages.map(({ text }) => text)]),
  )

// promise: unknown-inventory
test('one instance that cannot be read keeps its record and its neighbours are read', async () => {
  const { name, worker, world, ref } = await setUp()
  await worker.sync(name)
  world.broken.set(ref(2), platformProblem('platform-timeout', 'It did not answer.'))
  world.put({ ref: ref(1), cpus: 16 })
  const { state, result } = await worker.sync(name, { mode: 'full' })
  expect([state, result.problems, result.changed, result.vanished]).toEqual(['succeeded', 1, 1, 0])
  expect(await instanceOf(db, name, ref(2))).toMatchObject({
    goneAt: null,
    problem: { code: 'platform-timeout', message: 'It did not answer.' },
  })
  expect(await saidOf(name)).toEqual({
    'instances-not-read': [`web-${made * 1_000 + 2} (${ref(2)}): It did not answer.`],
  })
  // A delta would never mention it again: it is looked at by itself until it can be read.
  world.instances.set(ref(2), { ...world.instances.get(ref(2))!, cpus: 5 })
  await worker.sync(name)
  expect(await saidOf(name)).toHaveProperty('instances-not-read')
  world.broken.clear()
  const healed = await worker.sync(name)
  expect(healed.result).toMatchObject({ reading: 'delta', changed: 1 })
  expect(await instanceOf(db, name, ref(2))).toMatchObject({ problem: null, facts: { cpus: 5 } })
  expect(await warningsOf(db, name)).toEqual([])
})

test('one that could not be read from the start is asked for until it can', async () => {
  const { name, worker, world, ref } = await setUp()
  world.broken.set(ref(3), platformProblem('platform-timeout'))
  expect((await worker.sync(name)).result).toMatchObject({ instances: 3, unread: [ref(3)] })
  world.broken.clear()
  expect((await worker.sync(name)).result).toMatchObject({
    reading: 'delta',
    instances: 4,
    appeared: 1,
    unread: [],
  })
})

// promise: unknown-inventory
test('a reading that fails half-way concludes nothing and leaves everything as it was', async () => {
  const { name, worker, world, ref } = await setUp(10)
  await worker.sync(name)
  const before = await instancesOf(db, name)
  world.remove(ref(9))
  world.put({ ref: ref(1), cpus: 32 })
  world.beforeChunk = (chunk) => {
    if (chunk === 2) throw platformProblem('platform-unreachable', 'The line is cut.')
  }
  const { state, error } = await worker.sync(name, { mode: 'full' })
  expect([state, error.code, error.message]).toEqual(['ready', 'platform-unreachable', 'The line is cut.'])
  expect(await instancesOf(db, name)).toEqual(before)
  expect(await siteOf(db, name)).toMatchObject({
    ...{
      revision: 1,
      syncFailures: 1,
      syncError: { code: 'platform-unreachable', message: 'The line is cut.' },
    },
  })
  expect(await saidOf(name)).toEqual({ 'sync-failed': ['The line is cut.'] })
  expect(await eventsOf(db, name)).toEqual(['source.synced', 'warning.raised', 'source.sync-failed'])
  world.beforeChunk = () => {}
  expect((await worker.sync(name, { mode: 'full' })).result).toMatchObject({ vanished: 1, changed: 1 })
  expect(await siteOf(db, name)).toMatchObject({ syncFailures: 0, syncError: null })
  expect(await warningsOf(db, name)).toEqual([])
})

// promise: unknown-inventory
test('a source that suddenly shows nothing is not believed until it says so twice, or a person does', async () => {
  const { name, worker, world, ref } = await setUp(12)
  await worker.sync(name)
  for (let index = 1; index <= 12; index += 1) world.remove(ref(index))
  expect((await worker.sync(name, { mode: 'full' })).result).toMatchObject({ held_back: 12, vanished: 0 })
  expect(await saidOf(name)).toHaveProperty('suddenly-empty')
  // The next one is full whatever is asked for, and the second word counts.
  expect((await worker.sync(name)).result).toMatchObject({ reading: 'full', held_back: 0, vanished: 12 })
  expect(await warningsOf(db, name)).toEqual([])
  for (let index = 1; index <= 12; index += 1) world.put({ ref: ref(index) })
  expect((await worker.sync(name)).result).toMatchObject({ returned: 12 })
  for (let index = 1; index <= 12; index += 1) world.remove(ref(index))
  const forced = await worker.sync(name, { mode: 'full', force: true })
  expect(forced.result).toMatchObject({ held_back: 0, vanished: 12 })
})

test('what a batch holds keeps its record, and what changed waits beside it', async () => {
  const { name, worker, world, ref } = await setUp()
  await worker.sync(name)
  await db`update instance set frozen_by = 'wave-1' where ref in (${ref(1)}, ${ref(2)})`
  world.put({ ref: ref(1), cpus: 64 })
  world.remove(ref(2))
  expect((await worker.sync(name)).result).toMatchObject({ changed: 0, vanished: 0, pending: 2, revision: 1 })
  expect(await instanceOf(db, name, ref(1))).toMatchObject({
    ...{ facts: { cpus: 2 }, pending: { type: 'facts', facts: { cpus: 64 } }, goneAt: null, revision: 1 },
  })
  const second = await instanceOf(db, name, ref(2))
  expect(second).toMatchObject({ pending: { type: 'gone' }, goneAt: null })
  expect(await eventsOf(db, second.id)).toEqual(['instance.pending'])
  // Said once: another reading that says the same is no news.
  expect((await worker.sync(name, { mode: 'full' })).result).toMatchObject({ pending: 0 })
  world.put({ ref: ref(1), cpus: 2 })
  await worker.sync(name)
  expect((await instanceOf(db, name, ref(1))).pending).toBeNull()
  await db`update instance set frozen_by = null where ref in (${ref(1)}, ${ref(2)})`
  expect((await worker.sync(name, { mode: 'full' })).result).toMatchObject({ vanished: 1 })
})

test('of two sources with one machine the first counts, and the second when the first no longer has it', async () => {
  const [one, two] = [await setUp(2), await setUp(0)]
  await one.worker.sync(one.name)
  const { facts } = await instanceOf(db, one.name, one.ref(1))
  two.world.put({ ...facts, ref: 'vm-5', name: 'twin' })
  const twin = () => instanceOf(db, two.name, 'vm-5')
  expect((await two.worker.sync(two.name)).result).toMatchObject({ instances: 1, ignored: 1 })
  expect((await twin()).ignored).toBe('duplicate-uuid')
  expect((await saidOf(two.name))['instances-ignored']?.[0]).toContain(`of source ${one.name}`)
  expect((await instanceOf(db, one.name, one.ref(1))).ignored).toBeNull()
  expect((await two.worker.sync(two.name, { mode: 'full' })).result).toMatchObject({
    revision: 1,
    ignored: 1,
  })
  one.world.remove(one.ref(1))
  await one.worker.sync(one.name)
  expect((await two.worker.sync(two.name)).result).toMatchObject({ ignored: 0 })
  expect((await twin()).ignored).toBeNull()
  expect(await warningsOf(db, two.name)).toEqual([])
})

test('templates and machines of the platform itself are kept apart, with a warning that goes with them', async () => {
  const { name, worker, world, ref } = await setUp()
  world.put({ ref: ref(1), template: true, name: 'line one\nline two\u202e' })
  world.put({ ref: ref(2), name: 'vCLS-1' })
  await worker.sync(name)
  const ignored = (await instancesOf(db, name)).map((row) => row.ignored)
  expect(ignored).toEqual(['template', 'cluster-agent', null, null])
  const [warning] = await warningsOf(db, name)
  expect([warning?.type, warning?.messages.length, warning?.count]).toEqual(['instances-ignored', 2, 1])
  // What a machine is called neither breaks a line nor turns the text around.
  expect(warning?.messages[0]?.text).toContain('line one line two ')
  world.put({ ref: ref(1), template: false })
  await worker.sync(name)
  const [later] = await warningsOf(db, name)
  expect([later?.id, later?.messages.length, later?.count]).toEqual([warning?.id, 1, 2])
  expect(later?.messages[0]?.first_seen_at).toBe(warning?.messages[1]?.first_seen_at)
  world.remove(ref(2))
  await worker.sync(name)
  expect(await warningsOf(db, name)).toEqual([])
})

test('a warning that somebody has seen stays seen until it says something new', async () => {
  const { name, worker, world, ref } = await setUp()
  world.put({ ref: ref(1), template: true })
  await worker.sync(name)
  await db`update warning set status = 'acknowledged', acknowledged_by = 'ann', acknowledged_at = now()
    where entity_id = ${name}`
  await worker.sync(name, { mode: 'full' })
  expect((await warningsOf(db, name))[0]).toMatchObject({ status: 'acknowledged', acknowledgedBy: 'ann' })
  world.put({ ref: ref(2), template: true })
  await worker.sync(name)
  expect((await warningsOf(db, name))[0]).toMatchObject({ status: 'new', acknowledgedBy: null })
})

test('how full a disk is changes without a word to anybody', async () => {
  const { name, worker, world, ref } = await setUp()
  await worker.sync(name)
  const { id, facts } = await instanceOf(db, name, ref(1))
  const disks = facts.disks.map((disk) => ({ ...disk, used: 12_345, change_id: 'a/7' }))
  world.put({ ref: ref(1), disks })
  expect((await worker.sync(name)).result).toMatchObject({ changed: 0, revision: 1 })
  expect((await instanceOf(db, name, ref(1))).facts.disks[0]).toMatchObject({
    used: 12_345,
    change_id: 'a/7',
  })
  expect(await eventsOf(db, id)).toEqual([])
  expect((await worker.sync(name, { mode: 'full' })).result).toMatchObject({ changed: 0, revision: 1 })
})

test('a cursor that was lost, or that belongs to another place, makes the reading full', async () => {
  const { name, worker, world, ref } = await setUp()
  await worker.sync(name)
  world.forgetChanges()
  world.remove(ref(1))
  expect((await worker.sync(name)).result).toMatchObject({ reading: 'full', vanished: 1 })
  await db`update site set settings = settings || '{"scopes": ["/Paris"]}' where name = ${name}`
  expect((await worker.sync(name)).result).toMatchObject({ reading: 'full' })
  expect((await worker.sync(name)).result).toMatchObject({ reading: 'delta' })
  await db`update site set full_synced_at = now() - interval '25 hours' where name = ${name}`
  expect((await worker.sync(name)).result).toMatchObject({ reading: 'full' })
})

test('a target brings hosts, storage, networks and projects, and no instances', async () => {
  const world = new ImaginedSite()
  world.put({ ref: 'vm-1' })
  await makeSite(db, { name: 'cloud', role: 'target', connectivity: 'ok' })
  const worker = createInventoryWorker(db, world.open)
  expect((await worker.sync('cloud', { role: 'target' })).result).toMatchObject({
    instances: 0,
    machines: 1,
    revision: 1,
  })
  const site = await siteOf(db, 'cloud')
  world.hosts.clear()
  expect((await worker.sync('cloud', { role: 'target', mode: 'full' })).result).toMatchObject({ revision: 2 })
  const hosts = await db`select gone_at from host where site_id = ${site.id}::uuid`
  expect(hosts.map((row) => row.goneAt === null)).toEqual([false])
})

/** Changes an instance at the very moment that something about it is staged, which no test could hit by itself. */
const whenStaged = async (ref: string, change: string) => {
  await db.unsafe(`
    create function meanwhile() returns trigger language plpgsql as $$ begin
      if new.ref = '${ref}' then update instance set ${change} where ref = '${ref}'; end if;
      return new;
    end $$;
    create trigger meanwhile after insert on inventory_stage for each row execute function meanwhile()`)
  return () => db.unsafe('drop trigger meanwhile on inventory_stage; drop function meanwhile()')
}

test('what was decided on is decided anew when its record has changed since', async () => {
  const { name, worker, world, ref } = await setUp()
  await worker.sync(name)
  world.put({ ref: ref(1), cpus: 48 })
  const stop = await whenStaged(ref(1), "frozen_by = 'wave-9'")
  expect((await worker.sync(name)).result).toMatchObject({ changed: 0, pending: 1 })
  await stop()
  expect(await instanceOf(db, name, ref(1))).toMatchObject({
    ...{ frozenBy: 'wave-9', facts: { cpus: 2 }, pending: { type: 'facts', facts: { cpus: 48 } } },
  })
})

test('a reading that was overtaken by somebody who looked later is made once more', async () => {
  const { name, worker, ref } = await setUp()
  await worker.sync(name)
  const stop = await whenStaged(ref(2), "hash = 'of a later look'")
  const { state, error } = await worker.sync(name, { mode: 'full' })
  await stop()
  expect([state, error.code]).toEqual(['ready', 'sync-overtaken'])
  expect((await worker.sync(name, { mode: 'full' })).state).toBe('succeeded')
})

test('clashes are told to both sides, and end for both when one is gone', async () => {
  const [one, two] = [await setUp(2), await setUp(0)]
  await one.worker.sync(one.name)
  const { id, facts } = await instanceOf(db, one.name, one.ref(1))
  two.world.put({ ref: 'vm-88', name: 'other', nics: facts.nics })
  await two.worker.sync(two.name)
  const other = await instanceOf(db, two.name, 'vm-88')
  const clashes = async (instance: string) => {
    const rows = await db<{ rule: string }[]>`
      select rule from finding where instance_id = ${instance}::uuid and rule like '%-clash' order by rule`
    return rows.map(({ rule }) => rule)
  }
  expect(await clashes(id)).toEqual(['address-clash', 'mac-clash'])
  expect(await clashes(other.id)).toEqual(['address-clash', 'mac-clash'])
  two.world.remove('vm-88')
  await two.worker.sync(two.name)
  expect(await clashes(id)).toEqual([])
})

test('what is true of a datastore is told of every machine on it', async () => {
  const { name, worker, world, ref } = await setUp()
  const [[key, facts] = ['', undefined]] = world.storage
  if (!facts) throw new Error('There is no datastore.')
  const told = async () => {
    const { id } = await instanceOf(db, name, ref(1))
    const rows = await db<{ rule: string }[]>`
      select rule from finding where instance_id = ${id}::uuid and rule like 'datastore%'`
    return rows.map(({ rule }) => rule).join()
  }
  const steps = [
    [() => world.storage.delete(key), 'datastore-unknown'],
    [() => world.storage.set(key, facts), ''],
    [() => world.storage.set(key, { ...facts, accessible: false }), 'datastore-inaccessible'],
    [() => world.storage.set(key, facts), ''],
    [() => world.storage.delete(key), 'datastore-unknown'],
  ] as const
  for (const [change, rule] of steps) {
    change()
    await worker.sync(name, { mode: 'full' })
    expect(await told()).toBe(rule)
  }
})

test('a first sync that brings a datastore which cannot be read says so at once', async () => {
  const { name, worker, world, ref } = await setUp()
  for (const [key, facts] of world.storage) world.storage.set(key, { ...facts, accessible: false })
  await worker.sync(name)
  expect(await instanceOf(db, name, ref(1))).toMatchObject({ readiness: 'blocked' })
})
