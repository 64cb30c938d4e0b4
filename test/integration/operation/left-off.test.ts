import { expect, test } from 'vitest'
import { findHealedMachines } from '../../../db/queries/operations/still-active.ts'
import { mergeWarnings } from '../../../src/inventory/connection/warnings.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()

test('the warning of a machine that was left off stays until the machine is seen to run', async () => {
  const id = await addMachine(db, { name: 'web-1', power: 'off' })
  await db.begin((tx) =>
    mergeWarnings(
      tx,
      { entityType: 'machine', entityId: id, entityName: 'web-1' },
      { types: ['left-off'], said: { 'left-off': ['web-1 was left off.'] }, actor: 'job/1' },
    ),
  )
  const healed = async (power: string) => {
    await db`update machine set power = ${power} where id = ${id}::uuid`
    return (await findHealedMachines(db, 10)).map(({ type }) => type)
  }
  expect(await healed('off')).toEqual([])
  // A host that does not answer tells nothing of its machines.
  expect(await healed('unknown')).toEqual([])
  expect(await healed('on')).toEqual(['left-off'])
})
