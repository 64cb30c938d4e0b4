import { expect, test } from 'vitest'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { createInventoryWorker, instancesOf, makeSite, warningsOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab({ world: 'broken' })
const worker = createInventoryWorker(db, openLab)

const syncOf = async (name: string) => {
  await makeSite(db, { name, endpoint: lab.endpoint(name), password: lab.password, connectivity: 'ok' })
  return worker.sync(name)
}
const saidOf = async (name: string, type: string) =>
  (await warningsOf(db, name)).find((row) => row.type === type)?.messages.map(({ text }) => text) ?? []

test('where everything is odd each machine is read, kept apart, or named with its trouble', async () => {
  const { state, result } = await syncOf('left')
  expect(state).toBe('succeeded')
  const rows = await instancesOf(db, 'left')
  const standing = new Map(rows.map((row) => [row.ref, row.ignored]))
  expect([standing.get('vm-4'), standing.get('vm-5'), standing.get('vm-6'), standing.get('vm-10')]).toEqual([
    ...['template', 'cluster-agent', 'appliance', 'no-identity'],
  ])
  expect([standing.get('vm-2'), standing.get('vm-3')].sort()).toEqual([null, 'duplicate-uuid'].sort())
  // Those that cannot be read are named, and asked for by themselves from now on.
  expect(result).toMatchObject({ unread: ['vm-7', 'vm-8', 'vm-9'], problems: 3 })
  const unread = await saidOf('left', 'instances-not-read')
  for (const name of ['no-config', 'no-permission', 'never-answers'])
    expect(unread.filter((text) => text.includes(name))).toHaveLength(1)
  expect((await saidOf('left', 'facts-cut')).length).toBeGreaterThan(2)
  for (const { messages } of await warningsOf(db, 'left'))
    for (const { text } of messages) expect(text).toMatch(/^[^\p{Cc}\u202a-\u202e]{1,1000}$/u)
})

test('reading it again changes nothing, in whatever way', async () => {
  const before = await instancesOf(db, 'left')
  for (const mode of ['delta', 'full', 'delta'] as const) {
    const { result } = await worker.sync('left', { mode })
    expect(result).toMatchObject({
      reading: mode,
      revision: 1,
      appeared: 0,
      changed: 0,
      vanished: 0,
      problems: 3,
    })
  }
  expect(await instancesOf(db, 'left')).toEqual(before)
})

test('the second source of the same machines keeps what is only there, and the target has no surprises', async () => {
  const { state } = await syncOf('right')
  expect(state).toBe('succeeded')
  const twins = await db<{ left: string | null; right: string | null }[]>`
    select l.ignored as left, r.ignored as right from instance l join instance r on r.uuid = l.uuid
    join site ls on ls.id = l.site_id and ls.name = 'left' join site rs on rs.id = r.site_id and rs.name = 'right'
    where l.ignored is null and l.uuid <> ''`
  expect(twins.length).toBeGreaterThan(0)
  expect(twins.every(({ left, right }) => left === null && right !== null)).toBe(true)
})
