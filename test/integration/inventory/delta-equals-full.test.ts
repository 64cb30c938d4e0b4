import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { createInventoryWorker, instancesOf, makeSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'

const followed = await createDatabase()
const fresh = await createDatabase()
const lab = await createLab()
const site = { name: 'vc', endpoint: lab.endpoint('vcenter'), password: lab.password, connectivity: 'ok' }
await makeSite(followed.db, site)
const follower = createInventoryWorker(followed.db, openLab)
await follower.sync('vc')

const refs = Array.from({ length: 13 }, (_, index) => `vm-${101 + index}`)
const onMachine = (ref: string) => `/lab/sites/vcenter/instances/${ref}`

interface Edit {
  readonly what: string
  readonly ref: string
  readonly salt: number
}

/** What people do to machines behind our back. Some of it is refused, which is fine: nothing changes then. */
const perform = async ({ what, ref, salt }: Edit): Promise<void> => {
  const patch = (body: unknown) => lab.admin(`PATCH ${onMachine(ref)}`, body)
  const uuid = `5000aaaa-0000-4000-8000-${salt.toString(16).padStart(12, '0')}`
  switch (what) {
    case 'rename':
      return void (await patch({ name: `renamed-${salt}` }))
    case 'describe':
      return void (await patch({ facts: { description: `said ${salt}` } }))
    case 'tag':
      return void (await patch({ facts: { tags: { tier: [`t${salt % 3}`] } } }))
    case 'uuid':
      return void (await patch({ uuid }))
    case 'move':
      return void (await patch({ folder: `/Paris/vm/f${salt % 4}` }))
    case 'unreadable':
      return void (await patch({ unreadable: 'platform-timeout' }))
    case 'readable':
      return void (await patch({ unreadable: null }))
    case 'vanish':
      return void (await lab.admin(`DELETE ${onMachine(ref)}`))
    case 'put-back':
      return void (await lab.admin(`POST ${onMachine(ref)}/put-back`))
    case 'power': {
      const client = await lab.signIn('vcenter')
      return void (await client.call(`POST /instances/${ref}/power`, {
        verb: salt % 2 === 0 ? 'stop' : 'start',
      }))
    }
    default:
      throw new Error(`There is no edit ${what}.`)
  }
}

const kinds = [
  'rename',
  'describe',
  'tag',
  'uuid',
  'move',
  'unreadable',
  'readable',
  'vanish',
  'put-back',
  'power',
]
const edit = fc.record({
  what: fc.constantFrom(...kinds),
  ref: fc.constantFrom(...refs),
  salt: fc.integer({ min: 1, max: 2 ** 40 }),
})

/** What is there and readable, by what was read of it. */
const living = async (db: typeof fresh.db) =>
  (await instancesOf(db, 'vc'))
    .filter((row) => row.goneAt === null && row.problem === null)
    .map((row) => [row.ref, row.name, row.uuid, row.ignored, row.hash])

// promise: one-revision
test('after any edits the inventory that followed them is the one that a fresh reading gives', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(edit, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 }),
      async (rounds) => {
        for (const edits of rounds) {
          for (const item of edits) await perform(item)
          expect((await follower.sync('vc')).result).toMatchObject({ reading: 'delta' })
        }
        for (const ref of refs) await perform({ what: 'readable', ref, salt: 0 })
        await follower.sync('vc')
        for (const table of [
          'instance',
          'instance_identity',
          'finding',
          'site',
          'network',
          'host',
          'storage',
        ])
          await fresh.db`delete from ${fresh.db(table)}`
        await makeSite(fresh.db, site)
        await createInventoryWorker(fresh.db, openLab).sync('vc')
        expect(await living(followed.db)).toEqual(await living(fresh.db))
        const again = await follower.sync('vc', { mode: 'full' })
        expect(again.result).toMatchObject({
          reading: 'full',
          appeared: 0,
          changed: 0,
          returned: 0,
          vanished: 0,
        })
      },
    ),
    { numRuns: 15 },
  )
})
