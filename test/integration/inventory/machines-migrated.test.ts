import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import {
  handOverMachine,
  lockMachinesAt,
  markMachinesGone,
} from '../../../db/queries/machines/machine-rows.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import { operationVariants } from '../../../src/domain/operation/kinds/kinds.ts'
import { askOperation } from '../../../src/operation/admission/ask-operation.ts'
import { ImaginedSite } from '../../support/imagined-site.ts'
import { createInventoryWorker, makeSite } from '../../support/inventory.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()

let made = 0
const setUp = async (count: number) => {
  made += 1
  const name = `cloud-${made}`
  const world = new ImaginedSite()
  const ref = (index: number) => `vm-${made * 100_000 + index}`
  for (let index = 1; index <= count; index += 1) world.put({ ref: ref(index) })
  const site = await makeSite(db, { name, role: 'target', connectivity: 'ok' })
  const worker = createInventoryWorker(db, world.open)
  const sync = async (mode: 'full' | 'delta' = 'full') =>
    (await worker.sync(name, { role: 'target', mode })).result
  const machine = async (index: number): Promise<MachineRow> => {
    const rows = await db<MachineRow[]>`
      select * from machine where target_id = ${site.id}::uuid and ref = ${ref(index)}`
    const [row] = rows
    if (!row || rows.length > 1) throw new Error(`There are ${rows.length} machines ${ref(index)}.`)
    return row
  }
  return { site, world, ref, sync, machine }
}

/** An entry that has, or is about to have, a machine there. */
const addEntry = async (
  targetId: string,
  given: { ref: string | null; state: string; stage?: string; uuid?: string; target?: string },
): Promise<{ entryId: string; instanceId: string }> => {
  const [entryId, instanceId] = [uuidv7(), uuidv7()]
  await db`
    insert into instance (id, site_id, ref, name, hash, revision, uuid, location, facts, os_type, distribution,
      distribution_version)
    values (${instanceId}::uuid, ${uuidv7()}::uuid, 'vm-1', 'web', 'h', 1, ${given.uuid ?? ''}, '/web', '{}', 'linux',
      'debian', '12')`
  await db`
    insert into entry (id, batch_id, instance_id, source_id, target_id, state, stage, reason, message, revision, facts,
      running, machine_ref, placement)
    values (${entryId}::uuid, ${uuidv7()}::uuid, ${instanceId}::uuid, ${uuidv7()}::uuid,
      ${given.ref === null ? null : targetId}, ${given.state}, ${given.stage ?? 'background'}, 'x', '', 1, '{}', true,
      ${given.ref}, ${given.target === undefined ? null : JSON.stringify({ target: given.target })}::text::jsonb)`
  return { entryId, instanceId }
}

const seen = { uuid: '', project: 'shop', host: 'esx-1', power: 'on', cpus: 2, memory: 2 ** 31 } as const

const handOver = (
  at: { targetId: string; ref: string; entryId: string; instanceId: string },
  name: string,
): Promise<unknown> =>
  db.begin(async (tx) => {
    await lockMachinesAt(tx, { targetId: at.targetId, refs: [at.ref] })
    await handOverMachine(tx, { ...at, batch: 'wave-1', seen: { ...seen, name } }, 'test')
  })

const ask = (machineId: string, variant: (typeof operationVariants)[number]) =>
  db.begin((tx) =>
    askOperation(tx, {
      ...{ machineId, ...variant, params: {}, onConflict: 'supersede', cause: 'person', by: 'ann' },
      ...{ deadlineSeconds: 60, waitSeconds: 60 },
    }),
  )

test('a machine that an entry has carries that entry, and is the same row when it was migrated', async () => {
  const { site, ref, sync, machine } = await setUp(3)
  await sync()
  const [before, other] = [await machine(1), await machine(2)]
  expect(before.entryId).toBeNull()
  const { entryId, instanceId } = await addEntry(site.id, { ref: ref(1), state: 'idle' })
  expect(await sync()).toMatchObject({ changed: 0 })
  expect(await machine(1)).toMatchObject({ id: before.id, entryId, instanceId, origin: 'copy' })
  await db`update machine set run_policy = 'always-off' where id = ${before.id}::uuid`
  await handOver({ targetId: site.id, ref: ref(1), entryId, instanceId }, 'db-01')
  await db`update entry set state = 'finished' where id = ${entryId}::uuid`
  expect(await machine(1)).toMatchObject({
    ...{ id: before.id, entryId, instanceId, origin: 'migrated', name: 'db-01', runPolicy: 'always-off' },
  })
  await sync()
  expect(await machine(1)).toMatchObject({ entryId, origin: 'migrated' })
  expect(await machine(2)).toEqual(other)
})

test('an entry that is over, and one that is off the list, hold a machine no more', async () => {
  const { site, ref, sync, machine } = await setUp(1)
  const { entryId } = await addEntry(site.id, { ref: ref(1), state: 'canceled' })
  await sync()
  expect((await machine(1)).entryId).toBe(entryId)
  await db`delete from entry where id = ${entryId}::uuid`
  const { id } = await machine(1)
  await expect(ask(id, { kind: 'stop', force: false })).resolves.toMatchObject({ superseded: null })
  await sync()
  expect((await machine(1)).entryId).toBeNull()
})

test.each(['creating', 'background-import', 'idle', 'error', 'canceled', 'conflict'])(
  'whatever is asked of a machine of an entry that is %s is refused, and the entry is named',
  async (state) => {
    const { site, ref } = await setUp(0)
    const id = await addMachine(db, { targetId: site.id, ref: ref(1) })
    const { entryId } = await addEntry(site.id, { ref: ref(1), state })
    for (const variant of operationVariants)
      await expect(ask(id, variant)).rejects.toMatchObject({
        code: 'in-migration',
        message: expect.stringContaining(entryId),
        remedy: expect.stringContaining('cancel its entry'),
      })
    expect(await db`select from operation where machine_id = ${id}::uuid`).toHaveLength(0)
    await db`update entry set state = 'finished' where id = ${entryId}::uuid`
    await expect(ask(id, { kind: 'stop', force: false })).resolves.toMatchObject({ superseded: null })
  },
)

test('a machine that an entry has just made and not written down is told by its identity', async () => {
  const { site, ref } = await setUp(0)
  const id = await addMachine(db, { targetId: site.id, ref: ref(1) })
  const [{ uuid } = { uuid: '' }] = await db<
    { uuid: string }[]
  >`select uuid from machine where id = ${id}::uuid`
  const elsewhere = await addEntry(site.id, { ref: null, state: 'creating', uuid, target: 'another' })
  await expect(ask(id, { kind: 'snapshot', force: false })).resolves.toMatchObject({ superseded: null })
  await db`delete from operation where machine_id = ${id}::uuid`
  await db`delete from entry where id = ${elsewhere.entryId}::uuid`
  const { entryId } = await addEntry(site.id, { ref: null, state: 'creating', uuid, target: site.name })
  await expect(ask(id, { kind: 'stop', force: true })).rejects.toMatchObject({
    code: 'in-migration',
    message: expect.stringContaining(entryId),
  })
})

test('a reading that began before a machine was handed over does not take it away', async () => {
  const { site, world, ref, sync, machine } = await setUp(4)
  await sync()
  const { entryId, instanceId } = await addEntry(site.id, { ref: ref(9), state: 'worker-done' })
  const at = { targetId: site.id, ref: ref(9), entryId, instanceId }
  let over = false
  world.beforeChunk = async () => {
    if (over) return
    over = true
    await handOver(at, 'db-01')
  }
  expect(await sync()).toMatchObject({ vanished: 0 })
  expect(await machine(9)).toMatchObject({ origin: 'migrated', goneAt: null, power: 'on' })
  expect(await sync()).toMatchObject({ vanished: 1 })
})

const somebodyWaits = () =>
  until(
    async () =>
      (await db`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
        .length > 0,
    { what: 'somebody to wait for a lock' },
  )

test.each(['known', 'new'])(
  'a sync and the end of a migration that meet at a machine that is %s',
  async (which) => {
    const { site, world, ref, sync, machine } = await setUp(3)
    await sync()
    const index = which === 'known' ? 1 : 7
    world.put({ ref: ref(index), cpus: 4 })
    const { entryId, instanceId } = await addEntry(site.id, { ref: ref(index), state: 'worker-done' })
    const at = { targetId: site.id, ref: ref(index), entryId, instanceId }
    // The migration has the row first: the sync waits for it.
    let synced: Promise<unknown> = Promise.resolve()
    await db.begin(async (tx: Tx) => {
      await lockMachinesAt(tx, { targetId: site.id, refs: [ref(index)] })
      await handOverMachine(tx, { ...at, batch: 'wave-1', seen: { ...seen, name: 'db-01' } }, 'test')
      synced = sync()
      await somebodyWaits()
    })
    await synced
    expect(await machine(index)).toMatchObject({ origin: 'migrated', entryId, instanceId, goneAt: null })
    await sync()
    expect(await machine(index)).toMatchObject({ origin: 'migrated', entryId, cpus: 4 })
  },
)

test('of syncs and ends of migrations in any order each machine has one row, and it is a migrated one', async () => {
  const { site, world, ref, sync, machine } = await setUp(0)
  await sync()
  for (let index = 1; index <= 12; index += 1) {
    const { entryId, instanceId } = await addEntry(site.id, { ref: ref(index), state: 'worker-done' })
    world.put({ ref: ref(index) })
    const at = { targetId: site.id, ref: ref(index), entryId, instanceId }
    await Promise.all([sync(index % 2 === 0 ? 'full' : 'delta'), handOver(at, `db-${index}`)])
    expect(await machine(index)).toMatchObject({ origin: 'migrated', entryId, instanceId, goneAt: null })
  }
})

test('what a withdrawal has taken away is gone, whoever looks', async () => {
  const { site, world, ref, sync, machine } = await setUp(2)
  await sync()
  world.remove(ref(1))
  const gone = { targetId: site.id, refs: [ref(1)], reason: 'Its migration was withdrawn.', by: 'test' }
  await db.begin((tx) => markMachinesGone(tx, gone))
  expect((await machine(1)).goneAt).not.toBeNull()
  expect(await sync()).toMatchObject({ vanished: 0 })
  await expect(ask((await machine(1)).id, { kind: 'start', force: false })).rejects.toMatchObject({
    code: 'machine-gone',
    field: 'machine',
  })
})

test('ten thousand machines are written by a few statements, and those that are as they were by none', async () => {
  const { site, world, ref, sync } = await setUp(10_000)
  world.chunkSize = 500
  await db.unsafe(`
    create table written (op text, rows int);
    create function count_written() returns trigger language plpgsql as $$ begin
      insert into written select tg_op, count(*) from changed having count(*) > 0;
      return null;
    end $$;
    create trigger written_insert after insert on machine referencing new table as changed
      for each statement execute function count_written();
    create trigger written_update after update on machine referencing new table as changed
      for each statement execute function count_written()`)
  const writes = () => db`delete from written returning op, rows`
  expect(await sync()).toMatchObject({ appeared: 10_000, machines: 10_000 })
  expect(await writes()).toEqual([
    { op: 'INSERT', rows: 5_000 },
    { op: 'INSERT', rows: 5_000 },
  ])
  expect(await sync()).toMatchObject({ changed: 0, vanished: 0 })
  expect(await writes()).toEqual([])
  for (let index = 1; index <= 6_000; index += 1) world.put({ ref: ref(index), power_state: 'off' })
  for (let index = 9_001; index <= 10_000; index += 1) world.remove(ref(index))
  expect(await sync()).toMatchObject({ changed: 6_000, vanished: 1_000, machines: 9_000 })
  const after = await writes()
  expect(after.length).toBeLessThanOrEqual(4)
  expect(after.reduce((sum, { rows }) => sum + Number(rows), 0)).toBe(7_000)
  const [told] = await db`
    select count(*)::int as count from event e join machine m on m.id::text = e.subject_id
    where m.target_id = ${site.id}::uuid`
  expect(told?.count).toBe(7_000)
  await db.unsafe('drop trigger written_insert on machine; drop trigger written_update on machine')
}, 120_000)
