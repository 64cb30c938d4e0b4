import type { UsePlatform } from '../../src/inventory/sync-site.ts'
import { ByteBudget } from '../../src/migration/copy/byte-budget.ts'
import type { Platform } from '../../src/platforms/ports.ts'
import type { Handler } from '../../workers/handler.ts'
import { createCutoverInstance } from '../../workers/handlers/cutover-instance.ts'
import { createImportInstance } from '../../workers/handlers/import-instance.ts'
import { createWithdrawEntry } from '../../workers/handlers/withdraw-entry.ts'
import type { JourneyWorld } from './journeys.ts'

/** Is told of each write to the target that was done, counted over all of them; what it throws ends the write. */
export type Meddling = (writes: number) => Promise<unknown>

/** Meddles once, after so many writes. */
export const afterWrites =
  (count: number, meddle: () => Promise<unknown>): Meddling =>
  async (writes) => {
    if (writes === count) await meddle()
  }

/** The handlers of a journey, on the platforms of the test; somebody may meddle in the middle of a copy. */
export const createHandlersOf = (
  world: JourneyWorld,
  meddling?: Meddling,
  budget = new ByteBudget(64 * 1024 * 1024),
): readonly Handler[] => {
  const { db, inventory } = world
  const use: UsePlatform = meddling ? meddled(inventory.use, meddling) : inventory.use
  const parts = { db, use, budget }
  return [
    createImportInstance(parts),
    createCutoverInstance(parts),
    createWithdrawEntry(db, use),
  ] as readonly Handler[]
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
