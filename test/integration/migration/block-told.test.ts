import { expect, test } from 'vitest'
import { CpuPool } from '../../../workers/cpu-pool.ts'
import { createPlaceInstance } from '../../../workers/handlers/place-instance.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createJourneyWorker, createJourneyWorld, entryOf, eventsOfEntry } from '../../support/journeys.ts'
import { createLab } from '../../support/lab.ts'
import { codesOf, fittingScript, sendPlace, setBatch, waitingEntry } from '../../support/placing.ts'
import { createDatabase } from '../../support/postgres.ts'

const cpu = new CpuPool()
atEnd(() => cpu.close())
const { db } = await createDatabase()
const world = await createJourneyWorld(db, await createLab())
const worker = createJourneyWorker(db, [createPlaceInstance({ db, use: world.inventory.use, cpu })])

const placeOn = async (id: string, pool: string) => {
  const script = fittingScript.replace("'ceph'", `'${pool}'`)
  await setBatch(world, { config: { placement_scriptlet: script } })
  await worker.finish(await sendPlace(world, id))
}
const blocksOf = async (id: string) => (await eventsOfEntry(db, id)).filter((type) => type === 'entry.block')

test('a block is told once, and again when its reasons change', async () => {
  const id = await waitingEntry(world, 'vm-101')
  await placeOn(id, 'nowhere')
  const first = await entryOf(db, id)
  await placeOn(id, 'nowhere')
  const second = await entryOf(db, id)
  expect([first.state, second.state, second.tries]).toEqual(['blocked', 'blocked', first.tries + 1])
  expect(await blocksOf(id)).toHaveLength(1)
  await placeOn(id, 'elsewhere')
  const third = await entryOf(db, id)
  expect([third.state, ...codesOf(third)]).toEqual(['blocked', 'pool-absent'])
  expect(third.reasons).not.toEqual(first.reasons)
  expect(await blocksOf(id)).toHaveLength(2)
})
