import { expect, test } from 'vitest'
import { loadSiteById } from '../../../db/queries/load-site.ts'
import { TargetLooks, viewTarget } from '../../../src/migration/placement/target-view.ts'
import { entryOf } from '../../support/journeys.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { addMachine, codesOf, fittingScript, oursOf, setBatch, waitingEntry } from '../../support/placing.ts'
import { createPlacing } from '../../support/placing-worker.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
const { world, place } = await createPlacing(db, lab)
await setBatch(world, { config: { placement_scriptlet: fittingScript } })

test('on a target with several projects a name that is taken is found out before anything is made', async () => {
  await addMachine(world, { name: 'web-01' })
  const id = await waitingEntry(world, 'vm-101')
  const job = await place(id)
  expect(job).toMatchObject({ state: 'succeeded', result: { blocked: ['name-taken'] } })
  expect(await effectsOf(db, job.id)).toEqual([])
  expect(codesOf(await entryOf(db, id))).toEqual(['name-taken'])
  expect((await entryOf(db, id)).message).toContain('in project "default"')
  expect(await oursOf(world, id)).toEqual([])
})

test('the same name in another project keeps nobody out, as the platform and as a sync shows it', async () => {
  const target = { name: 'web-01', mine: [] }
  const heldBy = async (looks: TargetLooks, project: string) => {
    const site = await loadSiteById(db, world.target.id)
    if (!site) throw new Error('The target is gone.')
    const things = await looks.look(db, site, AbortSignal.timeout(60_000))
    return (await viewTarget(site, things, { ...target, project })).nameHeldBy
  }
  const live = new TargetLooks(world.inventory.use)
  expect(await heldBy(live, 'default')).toBe('somebody')
  expect(await heldBy(live, 'shop')).toBe('nobody')
  // And by the records of a sync.
  await world.inventory.sync(world.target.name, { role: 'target' })
  const recorded = new TargetLooks(world.inventory.use)
  expect(await heldBy(recorded, 'default')).toBe('somebody')
  expect(await heldBy(recorded, 'shop')).toBe('nobody')
})
