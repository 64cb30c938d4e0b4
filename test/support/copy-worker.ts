import type { Handler, UsePlatform } from '../../src/ledger/job.ts'
import { ByteBudget } from '../../src/migration/copy/byte-budget.ts'
import type { Platform } from '../../src/platforms/ports/ports.ts'
import { handleCutoverInstance } from '../../workers/handlers/cutover-instance.ts'
import { handleImportInstance } from '../../workers/handlers/import-instance.ts'
import { handleWithdrawEntry } from '../../workers/handlers/withdraw-entry.ts'
import { createEntryWorker, type EntryWorld } from './entry-world.ts'

/** Is told of each write to the target that was done, counted over all of them; what it throws ends the write. */
export type Meddling = (writes: number) => Promise<unknown>

/** Meddles once, after so many writes. */
export const afterWrites =
  (count: number, meddle: () => Promise<unknown>): Meddling =>
  async (writes) => {
    if (writes === count) await meddle()
  }

/** A worker for the copies of a journey, on the platforms of the test; `meddling` steps into the middle of a copy. */
export const createCopyWorker = (
  world: EntryWorld,
  meddling?: Meddling,
  budget = new ByteBudget(64 * 1024 * 1024),
  also: readonly Handler[] = [],
) => {
  const { db, inventory } = world
  const handlers = [handleImportInstance(budget), handleCutoverInstance(budget), handleWithdrawEntry, ...also]
  return createEntryWorker(db, handlers, meddling ? meddled(inventory.use, meddling) : inventory.use)
}

const meddled = (use: UsePlatform, meddle: Meddling): UsePlatform => {
  let writes = 0
  return (site, work) =>
    use(site, (platform) => {
      const { disks } = platform.ports
      if (!disks || site.role !== 'target') return work(platform)
      const write: typeof disks.write = async (...given) => {
        await disks.write(...given)
        writes += 1
        await meddle(writes)
      }
      const ports = { ...platform.ports, disks: { ...disks, write } }
      return work({ ...platform, ports, capabilities: platform.capabilities } as Platform)
    })
}
