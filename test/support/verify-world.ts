import type { Db } from '../../db/client.ts'
import { writeLedgerFact } from '../../db/queries/events/ledger-facts.ts'
import type { EntryRow } from '../../db/schema/migration.ts'
import { batchConfig, batchDefaults } from '../../src/domain/migration/batch/batch-settings.ts'
import { ByteBudget } from '../../src/migration/copy/byte-budget.ts'
import type { Sealer } from '../../src/seal/seal.ts'
import { CpuPool } from '../../workers/cpu-pool.ts'
import { handleFinalVerify } from '../../workers/handlers/final-verify.ts'
import { atEnd } from './cleanup.ts'
import { createCopyWorker } from './copy-worker.ts'
import {
  type createEntryWorker,
  createEntryWorld,
  type EntryWorld,
  entryOf,
  placeEntry,
  sendTo,
} from './entry-world.ts'
import { testSealer } from './events.ts'
import type { TestLab } from './lab.ts'

/** Puts every NIC on the shop's bridge, as the journeys of the tests are placed. */
export const shopScript = `function placement(instance) {
  for (const nic of instance.nics) setNetwork(nic.mac, 'bridge-shop', 'bridged', 10)
}`

export const probes = [{ name: 'ssh', ports: [22, 81] }]

export interface VerifyWorld extends EntryWorld {
  readonly worker: ReturnType<typeof createEntryWorker>
  setBatch(given: { config?: Record<string, unknown>; defaults?: Record<string, unknown> }): Promise<void>
  /** Gives the batch other probes; `setBatch` gives it the usual ones. */
  setProbes(probes: readonly unknown[]): Promise<void>
  /** An entry with a place for all of its disks. */
  place(ref: string): Promise<string>
  /** An entry that waits for its final verification: copied, cut over and fitted. */
  ready(ref: string): Promise<EntryRow>
  verify(id: string, payload?: Record<string, unknown>): ReturnType<VerifyWorld['worker']['finish']>
}

export const createVerifyWorld = async (
  db: Db,
  lab: TestLab,
  options: { readonly sealer?: Sealer } = {},
): Promise<VerifyWorld> => {
  // The machines of the journeys carry this installation's name.
  await writeLedgerFact(db, 'installation-id', 'test')
  const world = await createEntryWorld(db, lab, { probes, ...options })
  const cpu = new CpuPool()
  atEnd(() => cpu.close())
  const budget = new ByteBudget(32 * 1024 * 1024)
  const sealer = options.sealer ?? testSealer
  const verify = handleFinalVerify({ budget, threads: cpu, sealer })
  const worker = createCopyWorker(world, undefined, undefined, [verify])
  const setBatch: VerifyWorld['setBatch'] = async ({ config = {}, defaults = {} }) => {
    const parsed = batchDefaults.parse({
      placement: { target: world.target.name, storage_pool: 'local' },
      ...defaults,
    })
    const settings = batchConfig.parse({
      placement_scriptlet: shopScript,
      guest_shutdown_limit: '4s',
      boot_limit: '6s',
      ...config,
    })
    await db`update batch set defaults = ${JSON.stringify(parsed)}::text::jsonb,
      config = ${JSON.stringify({ ...settings, probes })}::text::jsonb where id = ${world.batch.id}::uuid`
  }
  await setBatch({})
  const place = async (ref: string): Promise<string> => {
    const { id, facts } = await placeEntry(world, ref)
    const disks = (facts.disks as { key: string }[]).map(({ key }) => [key, 'local'])
    await db`update entry set placement = jsonb_set(placement, '{pools}',
      ${JSON.stringify(Object.fromEntries(disks))}::text::jsonb) where id = ${id}::uuid`
    return id
  }
  const ready = async (ref: string): Promise<EntryRow> => {
    const id = await place(ref)
    const job = await worker.finish(await sendTo(world, id, 'cutover-instance'))
    if (job.state !== 'succeeded') throw new Error(`The cutover failed: ${JSON.stringify(job.error)}`)
    return entryOf(db, id)
  }
  return {
    ...world,
    worker,
    setBatch,
    setProbes: async (given) => {
      await db`update batch set config = config || ${JSON.stringify({ probes: given })}::text::jsonb
        where id = ${world.batch.id}::uuid`
    },
    place,
    ready,
    verify: async (id, payload) => worker.finish(await sendTo(world, id, 'final-verify', payload)),
  }
}

/** What a scheduler and a person's resolve do with an entry in conflict. */
export const resolveEntry = async (db: Db, id: string): Promise<void> => {
  await db`update entry set state = 'worker-done', reason = 'resolve', job_id = null where id = ${id}::uuid`
}
