import { expect, test } from 'vitest'
import { loadSiteById } from '../../../db/queries/sites/load-site.ts'
import { systemClock } from '../../../src/clock.ts'
import { TargetLooks, viewTarget } from '../../../src/migration/place/target-view.ts'
import { entryOf } from '../../support/entry-world.ts'
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
    const looking = {
      db,
      clock: systemClock,
      usePlatform: world.inventory.use,
      signal: AbortSignal.timeout(60_000),
    }
    const things = await looks.look(looking, site)
    return (await viewTarget(site, things, { ...target, project })).nameHeldBy
  }
  const live = new TargetLooks()
  expect(await heldBy(live, 'default')).toBe('somebody')
  expect(await heldBy(live, 'shop')).toBe('nobody')
  // And by the records of a sync.
  await world.inventory.sync(world.target.name, { role: 'target' })
  const recorded = new TargetLooks()
  expect(await heldBy(recorded, 'default')).toBe('somebody')
  expect(await heldBy(recorded, 'shop')).toBe('nobody')
})

/** A thing of the target belongs to these projects alone; none: to all. */
const giveTo = (type: 'network' | 'storage', name: string, projects: readonly string[]) => lab.database.db`
  update lab.entity set data = (data::jsonb || ${JSON.stringify({ projects })}::text::jsonb)::json
  where site = 'cloud' and type = ${type} and name = ${name}`

test.each([
  ['network', 'bridge-shop', 'network-of-another-project'],
  ['storage', 'ceph', 'pool-of-another-project'],
] as const)(
  'a %s that belongs to another project blocks before anything is made, and the platform would refuse it',
  async (type, name, code) => {
    await giveTo(type, name, ['shop'])
    const id = await waitingEntry(world, type === 'network' ? 'vm-106' : 'vm-104')
    await world.inventory.sync(world.target.name, { role: 'target', mode: 'full' })
    const job = await place(id)
    expect(job).toMatchObject({ state: 'succeeded', result: { blocked: [code] } })
    expect(await effectsOf(db, job.id)).toEqual([])
    expect((await entryOf(db, id)).message).toContain('project "default"')
    expect(await oursOf(world, id)).toEqual([])
    const nics = [{ mac: '00:50:56:00:00:01', network: 'bridge-shop', type: 'bridged', vlan: '' }]
    const disks = [{ key: '2000', capacity: 1024 ** 3 }]
    await expect(addMachine(world, { name: `probe-${type}`, nics, disks, pool: 'ceph' })).rejects.toThrow(
      'is not for project',
    )
    await giveTo(type, name, [])
  },
)
