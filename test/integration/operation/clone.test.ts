import { expect, test } from 'vitest'
import { effectsOf } from '../../support/ledger.ts'
import { createOperatingWorld } from '../../support/operating.ts'

const world = await createOperatingWorld()
const { db, site, lab, target } = world

interface Listed {
  readonly ref: string
  readonly name: string
}
/** Machines of that name that are there: the lab remembers those that were removed. */
const called = async (name: string): Promise<Listed[]> => {
  const rows = await lab.database.db<Listed[]>`
    select ref, name from lab.machine where site = 'vcenter' and name = ${name} order by ref`
  const statuses = await Promise.all(rows.map(({ ref }) => site.call(`GET /instances/${ref}/power`)))
  return rows.filter((_, index) => statuses[index]?.status === 200)
}
const ownerOf = async (ref: string): Promise<Record<string, string>> =>
  ((await site.call(`GET /instances/${ref}/owner`)).json as { owner: Record<string, string> }).owner

test('a copy is made, off and ours, and is one of our machines at once', async () => {
  const machine = await world.machine('vm-101')
  const operation = await world.done(machine, 'clone', { params: { name: 'web-01-copy' } })
  const [copy] = await called('web-01-copy')
  expect(operation).toMatchObject({
    ...{ state: 'completed', progress: 100 },
    result: { machine_ref: copy?.ref, name: 'web-01-copy', power: 'off', machine_id: expect.any(String) },
  })
  expect(await ownerOf(copy?.ref ?? '')).toMatchObject({ 'drover.operation': operation.id })
  const row = await world.row(String(operation.result?.machine_id))
  expect(row).toMatchObject({
    ...{ ref: copy?.ref, name: 'web-01-copy', targetId: target.id, origin: 'adopted', power: 'off' },
  })
  expect((await world.power('vm-101')).state).toBe('on')
  // It is operated on like any other.
  expect(await world.done(row.id, 'start')).toMatchObject({ state: 'completed', result: { power: 'on' } })
})

test('a name that is taken is refused clearly, and nothing is made', async () => {
  const machine = await world.machine('vm-102')
  const operation = await world.done(machine, 'clone', { params: { name: 'web-01' } })
  expect(operation).toMatchObject({ state: 'failed', reason: 'name-taken' })
  expect(operation.error).toMatchObject({
    field: 'params.name',
    remedy: expect.stringContaining('another name'),
  })
  expect(await called('web-01')).toHaveLength(1)
})

test('a lost answer makes one copy', async () => {
  const machine = await world.machine('vm-103')
  await world.fault({ kind: 'lost-answer', call: 'clone', machine: 'vm-103', times: 1 })
  const asked = await world.ask(machine, 'clone', { params: { name: 'db-copy' } })
  expect(await world.turn(asked)).toMatchObject({ reason: 'target-unreachable' })
  expect(await world.finish(asked)).toMatchObject({ state: 'completed' })
  expect(await called('db-copy')).toHaveLength(1)
})

// promise: own-by-id
test('one that is given up is waited for and taken away; a stranger of that name stays', async () => {
  await site.done('POST /instances/vm-105/clone', { name: 'double', folder: '', owner: {} })
  const [theirs] = await called('double')
  const machine = await world.machine('vm-104')
  await world.pace(60)
  const asked = await world.ask(machine, 'clone', { params: { name: 'double' } })
  expect(await world.turn(asked)).toMatchObject({ state: 'running', reason: 'in-progress' })
  await world.cancel(asked)
  const ending = world.finish(asked)
  await world.pace(0)
  await lab.pass(300_000)
  expect(await ending).toMatchObject({ state: 'canceled', settledAt: expect.any(Date) })
  expect(await world.tasks('vm-104', 'clone')).toMatchObject([{ state: 'succeeded' }])
  expect(await called('double')).toEqual([theirs])
})

test('a copy that somebody has started meanwhile is left to them, and said to be left', async () => {
  const machine = await world.machine('vm-106')
  await world.pace(60)
  const asked = await world.ask(machine, 'clone', { params: { name: 'used' } })
  await world.turn(asked)
  await world.pace(0)
  await lab.pass(300_000)
  const [copy] = await called('used')
  await site.done(`POST /instances/${copy?.ref}/power`, { verb: 'start' })
  await world.cancel(asked)
  // It keeps nobody from the machine itself.
  expect(await world.finish(asked)).toMatchObject({ state: 'canceled', settledAt: expect.any(Date) })
  expect(await called('used')).toHaveLength(1)
  const [effect] = await effectsOf(db, asked.jobId ?? '')
  expect(effect).toMatchObject({ state: 'debt', error: expect.objectContaining({ code: 'clone-runs' }) })
})
