import type { Db } from '../../db/client.ts'
import { CpuPool } from '../../workers/cpu-pool.ts'
import { handlePlaceInstance } from '../../workers/handlers/place-instance.ts'
import { atEnd } from './cleanup.ts'
import { createEntryWorker, createEntryWorld } from './entry-world.ts'
import type { TestLab } from './lab.ts'
import { sendPlace } from './placing.ts'

/** A batch that is stopped, and a worker that does nothing but place. */
export const createPlacing = async (db: Db, lab: TestLab) => {
  const cpu = new CpuPool()
  atEnd(() => cpu.close())
  const world = await createEntryWorld(db, lab)
  const worker = createEntryWorker(db, [handlePlaceInstance(cpu)], world.inventory.use)
  /** Sends an entry's job to place it, and follows it to its end. */
  const place = async (id: string) => worker.finish(await sendPlace(world, id))
  return { world, worker, place }
}
