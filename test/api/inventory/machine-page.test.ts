import { expect, test } from 'vitest'
import type { FeedEvent } from '../../../db/queries/events/read-events-after.ts'
import { createScreens } from '../../../src/api/screens/screens.ts'
import { createAsk } from '../../../src/console/kit/ask.ts'
import { machinePage } from '../../../src/console/pages/operation/machine.ts'
import { makeSite } from '../../support/inventory.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const deps = depsOver(db)
const call = clientOf(deps)
const askAs = createAsk(deps)
const screens = createScreens(deps)

const ann = { name: 'ann', role: 'viewer', by: 'token', tokenId: 'none' } as const

const pageOf = (id: string) =>
  machinePage({
    actor: ann,
    ask: askAs(ann),
    screens,
    path: `/machines/${id}`,
    params: { id },
    query: new URLSearchParams(),
    nowMs: Date.now(),
  })

const event = (type: string, id: string, detail: FeedEvent['detail'] = null): FeedEvent => ({
  cursor: { era: 1, xid: '1', id: 1 },
  at: new Date(),
  type,
  subject: { type: type.split('.')[0] ?? '', id },
  job: null,
  actor: 'test',
  from: null,
  to: null,
  reason: null,
  detail,
})

test('the page of a machine is made anew for what happens to it and its target, and for no other machine', async () => {
  const { id: targetId } = await makeSite(db, {
    role: 'target',
    name: 'cloud',
    connectivity: 'ok',
    quiet: true,
  })
  const [machine, other] = await Promise.all([addMachine(db, { targetId }), addMachine(db, { targetId })])
  const { body } = await call('POST', '/v1/operations', { json: { machine, kind: 'stop' } })
  const { wakesOn } = await pageOf(machine)
  expect(wakesOn?.(event('machine.changed', machine))).toBe(true)
  expect(wakesOn?.(event('operation.running', body.id))).toBe(true)
  expect(wakesOn?.(event('operation.queued', other, { machine }))).toBe(true)
  expect(wakesOn?.(event('target.unreachable', 'cloud'))).toBe(true)
  expect(wakesOn?.(event('machine.changed', other))).toBe(false)
  expect(wakesOn?.(event('operation.running', other, { machine: other }))).toBe(false)
  expect(wakesOn?.(event('target.unreachable', 'elsewhere'))).toBe(false)
})

test('the page of a machine shows its queue in the order of its turns', async () => {
  const { id: targetId } = await makeSite(db, {
    role: 'target',
    name: 'north',
    connectivity: 'ok',
    quiet: true,
  })
  const machine = await addMachine(db, { targetId })
  const asked: string[] = []
  for (const kind of ['snapshot', 'stop', 'start', 'snapshot']) {
    const { body } = await call('POST', '/v1/operations', { json: { machine, kind, on_conflict: 'queue' } })
    asked.push(body.id)
  }
  // Made by a process whose clock is an hour behind.
  const early = '00000000-0000-7000-8000-000000000000'
  await db`update operation set id = ${early}::uuid where id = ${asked[3] ?? ''}::uuid`
  const queue = (await pageOf(machine)).parts.find(({ id }) => id === 'queue')
  const html = String(await queue?.html)
  const places = [asked[1], asked[2], early].map((id) => html.indexOf(id ?? ''))
  expect(places.every((place) => place > -1)).toBe(true)
  expect(places).toEqual(places.toSorted((a, b) => a - b))
})
