import { expect, test } from 'vitest'
import { makeSite } from '../../support/inventory.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createOperators } from '../../support/operating.ts'
import { createDatabase } from '../../support/postgres.ts'
import { vcsimAccount } from '../../support/vcsim.ts'
import { anyCall, makeMachine, startVsphere } from '../../support/vsphere-machines.ts'

const { db } = await createDatabase()
const { vcsim, platform, ports } = await startVsphere()
const { power, machines } = ports
const target = await makeSite(db, {
  ...{ role: 'target', name: 'vc', kind: 'vsphere', endpoint: vcsim.url, connectivity: 'ok', quiet: true },
  ...{ fingerprint: vcsim.connection.fingerprint, ...vcsimAccount },
})
/** What somebody does as soon as a snapshot was asked for. */
let meddle: () => Promise<unknown> = async () => {}
const createSnapshot: typeof machines.createSnapshot = async (...asked) => {
  const handle = await machines.createSnapshot(...asked)
  await meddle()
  return handle
}
const meddled = { ...platform, ports: { ...platform.ports, machines: { ...machines, createSnapshot } } }
const world = createOperators({ db, target, open: () => meddled })

const stateOf = async (ref: string): Promise<string> => {
  const seen = await power.power(anyCall(), ref)
  return seen.found ? seen.value.state : 'gone'
}
const snapshotsOf = async (ref: string) => {
  const there = await machines.snapshots(anyCall(), ref)
  return there.found ? there.value : []
}
const running = async (): Promise<string> => {
  const ref = await makeMachine(ports)
  await (await power.start(anyCall(), ref)).wait(anyCall())
  return ref
}

test('a vCenter makes a snapshot, and brings a machine that runs back to it', async () => {
  const ref = await running()
  const machine = await world.machine(ref)
  const made = await world.done(machine, 'snapshot', { params: { name: 'before' } })
  const [snapshot] = await snapshotsOf(ref)
  expect(made).toMatchObject({ state: 'completed', result: { snapshot: snapshot?.ref, name: 'before' } })
  const restored = await world.done(machine, 'restore', { params: { snapshot: 'before' } })
  expect(restored).toMatchObject({ state: 'completed', result: { was: 'on', power: 'on' } })
  expect(await stateOf(ref)).toBe('on')
})

test('a vCenter makes a copy that is one of our machines, and starts it', async () => {
  const machine = await world.machine(await running())
  const cloned = await world.done(machine, 'clone', { params: { name: 'copy-of-it' } })
  expect(cloned).toMatchObject({ state: 'completed', result: { name: 'copy-of-it', power: 'off' } })
  const copy = String(cloned.result?.machine_id)
  expect(await world.done(copy, 'start')).toMatchObject({ state: 'completed', result: { power: 'on' } })
  const again = await world.done(machine, 'clone', { params: { name: 'copy-of-it' } })
  expect(again).toMatchObject({ state: 'failed', reason: 'name-taken' })
})

test('a vCenter that cannot save memory says so before anything is touched', async () => {
  const ref = await running()
  const operation = await world.done(await world.machine(ref), 'hibernate')
  expect(operation).toMatchObject({ state: 'failed', reason: 'unsupported', startedAt: null })
  expect(await effectsOf(db, operation.jobId ?? '')).toEqual([])
  expect(await stateOf(ref)).toBe('on')
})

test('a snapshot of a vCenter is taken back when it was given up', async () => {
  const ref = await running()
  const asked = await world.ask(await world.machine(ref), 'snapshot', { params: { name: 'given-up' } })
  meddle = () => world.cancel(asked)
  expect(await world.finish(asked)).toMatchObject({ state: 'canceled', settledAt: expect.any(Date) })
  expect(await effectsOf(db, asked.jobId ?? '')).toMatchObject([{ state: 'undone' }])
  expect(await snapshotsOf(ref)).toEqual([])
})
