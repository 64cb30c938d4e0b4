import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../../db/client.ts'
import { systemClock } from '../../../src/clock.ts'
import type { Handler } from '../../../src/ledger/job.ts'
import { handleStartBatch } from '../../../workers/handlers/start-batch.ts'
import { LeaseKeeper } from '../../../workers/lease-keeper.ts'
import { Runner } from '../../../workers/runner.ts'
import { quietLog } from '../../support/events.ts'
import { jobOf, leaseMs, makeDue, noPlatform } from '../../support/ledger.ts'
import { sampleInstance } from '../../unit/inventory/samples.ts'
import { addInstance, addSite, emptyInventory } from '../inventory/inventory-rows.ts'
import type { Client, Reply } from '../setup.ts'

/** Every table of migration, and of the inventory. */
export const emptyMigration = async (db: Db): Promise<void> => {
  await db`truncate batch, batch_instance, batch_window, batch_plan, entry, entry_disk, entry_extent, certificate,
    entry_history, pause, effect, token_hold`
  await emptyInventory(db)
}

export const named = (name: string, changes: Parameters<typeof sampleInstance>[0] = {}) =>
  sampleInstance({ name, ref: `vm-${name}`, uuid: uuidv7(), ...changes })

/** A source with these instances and a target; the instances' ids by name. */
export const addFleet = async (db: Db, names: readonly string[]): Promise<Record<string, string>> => {
  const paris = await addSite(db, 'paris')
  await addSite(db, 'oslo', { role: 'target' })
  const ids: Record<string, string> = {}
  for (const name of names) ids[name] = await addInstance(db, paris, { facts: named(name) })
  return ids
}

export const settingsOf = (changes: Record<string, unknown> = {}) => ({
  name: 'wave-1',
  include_expression: 'name.startsWith("web")',
  defaults: { placement: { target: 'oslo' } },
  ...changes,
})

/** Runs the jobs of some kinds that nobody has done yet, here and now, as a worker would. */
export const runJobs = async (
  db: Db,
  kind: string,
  handlers: readonly Handler[] = [handleStartBatch],
): Promise<string[]> => {
  const base = { db, workerId: uuidv7(), leaseMs, clock: systemClock, log: quietLog }
  const runner = new Runner({
    ...base,
    usePlatform: noPlatform,
    keeper: new LeaseKeeper(base),
    handlers: new Map(handlers.map((handler) => [handler.kind.kind, handler])),
    undoers: new Map(),
  })
  const jobs = await db<{ id: string }[]>`
    select id from job where kind = ${kind} and finished_at is null order by id`
  for (const { id } of jobs) {
    await makeDue(db, id)
    const { generation } = await jobOf(db, id)
    await runner.follow(kind, { id, generation })
  }
  return jobs.map(({ id }) => id)
}

/** A batch that has found its instances. */
export const defineBatch = async (
  db: Db,
  call: Client,
  changes: Record<string, unknown> = {},
): Promise<Reply> => {
  const made = await call('POST', '/v1/batches', { json: settingsOf(changes) })
  await runJobs(db, 'start-batch')
  return made
}

/** The same, started, with its entries. */
export const startBatch = async (
  db: Db,
  call: Client,
  changes: Record<string, unknown> = {},
): Promise<Reply> => {
  await defineBatch(db, call, changes)
  const started = await call('POST', `/v1/batches/${String(changes.name ?? 'wave-1')}/:start`)
  await runJobs(db, 'start-batch')
  return started
}

/** Puts an entry where a test wants it. */
export const moveRow = async (
  db: Db,
  id: string,
  place: { state: string; stage?: string; windowName?: string; stopped?: boolean; guestUntil?: Date },
): Promise<void> => {
  await db`
    update entry set state = ${place.state}, stage = ${place.stage ?? 'background'},
      window_id = (select id from batch_window where name = ${place.windowName ?? ''}),
      source_stopped_at = ${place.stopped || place.guestUntil ? new Date() : null},
      guest_until = ${place.guestUntil ?? null} where id = ${id}::uuid`
}

/** Takes the jobs away that a start sends along: a test says itself who is at an entry. */
export const restEntries = async (db: Db): Promise<void> => {
  await db`update entry set job_id = null`
  await db`
    with gone as (delete from job where subject_type = 'entry' returning id)
    delete from job_search where job_id in (select id from gone)`
}
