import { expect, test } from 'vitest'
import { entryOf, eventsOfEntry } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { codesOf, fittingScript, setBatch, waitingEntry } from '../../support/placing.ts'
import { createPlacing } from '../../support/placing-worker.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const { world, place } = await createPlacing(db, await createLab())

const placeOn = async (id: string, pool: string) => {
  const script = fittingScript.replace("'ceph'", `'${pool}'`)
  await setBatch(world, { config: { placement_scriptlet: script } })
  await place(id)
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
