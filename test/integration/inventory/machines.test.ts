import { expect, test } from 'vitest'
import { noteMachine } from '../../../db/queries/machines/machine-rows.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import { hostFacts, ImaginedSite, platformProblem } from '../../support/imagined-site.ts'
import { createInventoryWorker, eventsOf, makeSite, warningsOf } from '../../support/inventory.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

let made = 0
const setUp = async (count: number, settings: Record<string, unknown> = {}) => {
  made += 1
  const name = `cloud-${made}`
  const world = new ImaginedSite()
  const base = made * 10_000
  const ref = (index: number) => `vm-${base + index}`
  for (let index = 1; index <= count; index += 1) world.put({ ref: ref(index), resource_pool: 'shop' })
  const site = await makeSite(db, { name, role: 'target', connectivity: 'ok', settings })
  const worker = createInventoryWorker(db, world.open)
  const sync = (options: { mode?: 'full' | 'delta'; force?: boolean } = {}) =>
    worker.sync(name, { role: 'target', ...options })
  const machines = () =>
    db<MachineRow[]>`select * from machine where target_id = ${site.id}::uuid order by ref`
  const machine = async (index: number): Promise<MachineRow> => {
    const [row] = (await machines()).filter((item) => item.ref === ref(index))
    if (!row) throw new Error(`There is no machine ${ref(index)}.`)
    return row
  }
  return { name, site, world, ref, sync, machines, machine }
}

/** Says something of a machine while a reading is under way. */
const whileRead = (world: ImaginedSite, say: () => Promise<unknown>) => {
  let said = false
  world.beforeChunk = async () => {
    if (said) return
    said = true
    await say()
  }
}

test('the first reading of a target adopts what runs there, and says so once', async () => {
  const { name, world, ref, sync, machines, machine } = await setUp(7)
  world.put({ ref: ref(2), template: true })
  world.put({ ref: ref(3), appliance: true })
  world.put({ ref: ref(4), power_state: 'off', host: '' })
  const { result } = await sync()
  expect(result).toMatchObject({ machines: 5, appeared: 5, changed: 0, vanished: 0, instances: 0 })
  expect((await machines()).map((row) => row.ref)).toEqual([1, 4, 5, 6, 7].map(ref))
  expect(await machine(1)).toMatchObject({
    ...{ name: `web-${made * 10_000 + 1}`, project: 'shop', host: 'esx-1', power: 'on', savedState: null },
    ...{ cpus: 2, memory: 2 ** 31, runPolicy: 'manual', origin: 'adopted', entryId: null, goneAt: null },
  })
  expect(await machine(4)).toMatchObject({ power: 'off', host: '' })
  expect(await eventsOf(db, (await machine(1)).id)).toEqual([])
  const told = await db<{ detail: { machines: number } }[]>`
    select detail from event where type = 'target.synced' and subject_id = ${name}`
  expect(told.map(({ detail }) => detail.machines)).toEqual([5])
})

test.each(['full', 'delta'] as const)(
  'what came, changed, went and came back is told of: %s',
  async (mode) => {
    const { world, ref, sync, machine } = await setUp(4)
    await sync()
    const [one, two, three] = [await machine(1), await machine(2), await machine(3)]
    await db`update machine set run_policy = 'always-on' where id = ${two.id}::uuid`
    world.put({ ref: ref(1), power_state: 'off', host: 'esx-2' })
    world.remove(ref(2))
    world.put({ ref: ref(5) })
    const { result } = await sync({ mode })
    expect(result).toMatchObject({
      reading: mode,
      machines: 4,
      appeared: 1,
      changed: 1,
      vanished: 1,
      returned: 0,
    })
    expect(await machine(1)).toMatchObject({ id: one.id, power: 'off', host: 'esx-2' })
    expect((await machine(2)).goneAt).not.toBeNull()
    expect(await eventsOf(db, one.id)).toEqual(['machine.changed'])
    expect(await eventsOf(db, two.id)).toEqual(['machine.vanished'])
    expect(await eventsOf(db, three.id)).toEqual([])
    expect(await eventsOf(db, (await machine(5)).id)).toEqual(['machine.appeared'])
    const [event] = await db`select detail, from_state, to_state from event where subject_id = ${one.id}`
    expect(event).toMatchObject({
      detail: { changes: { power: ['on', 'off'], host: ['esx-1', 'esx-2'] } },
      ...{ fromState: 'on', toState: 'off' },
    })
    world.put({ ref: ref(2), uuid: two.uuid })
    expect((await sync({ mode })).result).toMatchObject({ returned: 1, appeared: 0, vanished: 0 })
    expect(await machine(2)).toMatchObject({ id: two.id, goneAt: null, runPolicy: 'always-on' })
    expect(await eventsOf(db, two.id)).toEqual(['machine.vanished', 'machine.returned'])
  },
)

test('what is as it was is not written again', async () => {
  const { sync, machines } = await setUp(12)
  await sync()
  const versions = () =>
    db`select id, xmin::text as version from machine where id = any(${[...ids]}::uuid[]) order by id`
  const ids = (await machines()).map(({ id }) => id)
  const before = await versions()
  expect((await sync({ mode: 'full' })).result).toMatchObject({ changed: 0, machines: 12 })
  expect(await versions()).toEqual(before)
})

test('another machine under the id of one that is gone is not what people decided about', async () => {
  const { world, ref, sync, machine } = await setUp(2)
  await sync()
  const { id } = await machine(1)
  await db`update machine set run_policy = 'always-on', saved_state = 's-1', stopped_at = now() where id = ${id}::uuid`
  world.remove(ref(1))
  await sync()
  world.put({ ref: ref(1), uuid: '50000000-0000-4000-8000-0000000fffff' })
  await sync()
  expect(await machine(1)).toMatchObject({
    id,
    runPolicy: 'manual',
    savedState: null,
    stoppedAt: null,
    goneAt: null,
  })
})

test('a machine that became a template is none any more', async () => {
  const { world, ref, sync, machine } = await setUp(2)
  await sync()
  world.put({ ref: ref(1), template: true })
  expect((await sync()).result).toMatchObject({ reading: 'delta', vanished: 1 })
  expect((await machine(1)).goneAt).not.toBeNull()
  world.put({ ref: ref(1), template: false })
  expect((await sync()).result).toMatchObject({ returned: 1 })
})

test.each(['full', 'delta'] as const)('what cannot be read is not gone: %s', async (mode) => {
  const { name, world, ref, sync, machine } = await setUp(5)
  await sync()
  world.broken.set(ref(1), platformProblem('platform-permission'))
  world.touch(ref(1))
  world.hidden.add(ref(2))
  world.broken.set(ref(2), platformProblem('platform-permission'))
  world.touch(ref(2))
  world.hidden.add(ref(3))
  world.put({ ref: ref(3), cpus: 4 })
  const { result } = await sync({ mode })
  expect(result).toMatchObject({ vanished: 0, problems: 2, changed: 1 })
  expect(await machine(1)).toMatchObject({ goneAt: null, power: 'on' })
  expect(await machine(2)).toMatchObject({ goneAt: null })
  expect(await machine(3)).toMatchObject({ goneAt: null, cpus: 4 })
  expect((await warningsOf(db, name)).map(({ type }) => type)).toEqual(['instances-not-read'])
  world.broken.delete(ref(1))
  world.broken.delete(ref(2))
  world.remove(ref(2))
  expect((await sync()).result).toMatchObject({ problems: 0, vanished: 1 })
  expect(await warningsOf(db, name)).toEqual([])
})

test('of a machine whose host does not answer nobody says whether it runs, until it is seen', async () => {
  const { world, ref, sync, machine } = await setUp(3)
  await sync()
  world.broken.set(ref(1), platformProblem('platform-unreachable'))
  world.touch(ref(1))
  expect((await sync({ mode: 'full' })).result).toMatchObject({ vanished: 0, changed: 1 })
  expect(await machine(1)).toMatchObject({ power: 'unknown', goneAt: null })
  world.broken.delete(ref(1))
  expect((await sync()).result).toMatchObject({ reading: 'delta', changed: 1 })
  expect(await machine(1)).toMatchObject({ power: 'on' })
  // Unknown on a host that answers is looked at too, should the platform not tell of it by itself.
  await db`update machine set power = 'unknown' where ref = ${ref(2)}`
  expect((await sync()).result).toMatchObject({ reading: 'delta', changed: 1 })
  expect(await machine(2)).toMatchObject({ power: 'on' })
})

test.each(['not-responding', 'disconnected'] as const)(
  'while its host is %s, what a platform goes on saying of a machine is not believed',
  async (state) => {
    const { world, ref, sync, machine } = await setUp(3)
    world.put({ ref: ref(3), host: 'esx-2' })
    await sync()
    world.hosts.set('host-1', { ...hostFacts, state })
    // A delta of this world tells of instances alone.
    world.put({ ref: ref(2), cpus: 4 })
    expect((await sync({ mode: 'full' })).result).toMatchObject({ changed: 2 })
    expect([await machine(1), await machine(2), await machine(3)].map(({ power }) => power)).toEqual([
      ...['unknown', 'unknown', 'on'],
    ])
    expect((await sync({ mode: 'full' })).result).toMatchObject({ changed: 0 })
    world.hosts.set('host-1', hostFacts)
    expect((await sync({ mode: 'full' })).result).toMatchObject({ changed: 2 })
    expect([await machine(1), await machine(2)].map(({ power }) => power)).toEqual(['on', 'on'])
  },
)

test('an empty answer is not believed the first time', async () => {
  const { name, world, sync, machines } = await setUp(12)
  await sync()
  world.instances.clear()
  expect((await sync({ mode: 'full' })).result).toMatchObject({ held_back: 12, vanished: 0, machines: 12 })
  expect((await warningsOf(db, name)).map(({ type, messages }) => [type, messages[0]?.text])).toEqual([
    ['suddenly-empty', expect.stringContaining('showed no machine at all, where 12 were known')],
  ])
  expect((await sync({ mode: 'full' })).result).toMatchObject({ vanished: 12, machines: 0 })
  expect((await machines()).every(({ goneAt }) => goneAt !== null)).toBe(true)
})

test('what was moved out of the scopes is none of ours any more', async () => {
  const { world, ref, sync, machine } = await setUp(3, { scopes: ['/Paris/vm/shop'] })
  await sync()
  world.hidden.add(ref(1))
  expect((await sync({ mode: 'full' })).result).toMatchObject({ vanished: 1 })
  expect((await machine(1)).goneAt).not.toBeNull()
})

test('a slow reading does not take back what was noted since it began', async () => {
  const { world, ref, sync, machine } = await setUp(8)
  await sync()
  const [one, eight] = [await machine(1), await machine(8)]
  world.put({ ref: ref(1), power_state: 'off', name: 'renamed' })
  world.remove(ref(8))
  whileRead(world, () =>
    db.begin(async (tx) => {
      await noteMachine(tx, one.id, { power: 'on', host: 'host-1' })
      await noteMachine(tx, eight.id, { power: 'on' })
    }),
  )
  await sync({ mode: 'full' })
  expect(await machine(1)).toMatchObject({ power: 'on', host: 'esx-1', name: 'renamed' })
  expect(await machine(8)).toMatchObject({ goneAt: null })
  await sync({ mode: 'full' })
  expect(await machine(1)).toMatchObject({ power: 'off' })
  expect((await machine(8)).goneAt).not.toBeNull()
})

test('memory that was saved fits a machine no more that has run since', async () => {
  const { world, ref, sync, machine } = await setUp(2)
  world.put({ ref: ref(1), power_state: 'off' })
  await sync()
  const { id } = await machine(1)
  await db`update machine set saved_state = 's-1', stopped_at = now() where id = ${id}::uuid`
  await sync({ mode: 'full' })
  expect(await machine(1)).toMatchObject({ power: 'off', savedState: 's-1' })
  world.put({ ref: ref(1), power_state: 'on' })
  await sync()
  expect(await machine(1)).toMatchObject({ power: 'on', savedState: null, stoppedAt: null })
})

test('a target that was read before its machines were looked at is read in full once more', async () => {
  const { name, sync, machines } = await setUp(2)
  await sync()
  await db`delete from machine where target_id = (select id from site where name = ${name})`
  await db`update site set sync_result = sync_result - 'machines' where name = ${name}`
  expect((await sync()).result).toMatchObject({ reading: 'full', appeared: 2 })
  for (const { id } of await machines()) expect(await eventsOf(db, id)).toEqual([])
  expect((await sync()).result).toMatchObject({ reading: 'delta', appeared: 0 })
})
