import { expect, test } from 'vitest'
import { openVsphere } from '../../../src/platforms/vsphere/vsphere.ts'
import { createInventoryWorker, instancesOf, makeSite, moveSite, siteOf } from '../../support/inventory.ts'
import { jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { startVcsim, vcsimAccount } from '../../support/vcsim.ts'

const { db } = await createDatabase()
const simulator = await startVcsim({ vms: 3 })

test('a vCenter is confirmed, read whole, followed by deltas, and its machines are switched', async () => {
  await makeSite(db, { name: 'vc', kind: 'vsphere', endpoint: simulator.url, ...vcsimAccount })
  const worker = createInventoryWorker(db, openVsphere)
  const check = async () =>
    (await jobOf(db, await worker.run('check-connection', { role: 'source', name: 'vc' }))).result
  expect(await check()).toEqual({ connectivity: 'confirm-fingerprint', code: 'platform-fingerprint' })
  const { fingerprint = '' } = (await siteOf(db, 'vc')).seenCertificate ?? {}
  await moveSite(db, { name: 'vc' }, { fingerprint })
  expect(await check()).toEqual({ connectivity: 'ok', code: null })
  const first = await worker.sync('vc')
  expect(first).toMatchObject({ state: 'succeeded', result: { reading: 'full', problems: 0, revision: 1 } })
  const before = await instancesOf(db, 'vc')
  expect(before.length).toBeGreaterThan(3)
  expect(
    before.every((row) => row.uuid !== '' && row.facts.nics.length > 0 && row.facts.disks.length > 0),
  ).toBe(true)
  expect((await worker.sync('vc')).result).toMatchObject({ reading: 'delta', changed: 0, revision: 1 })
  const [one] = before
  if (!one) throw new Error('There is no machine.')
  const stop = await worker.run('power-instance', { instance: one.id, verb: 'stop' })
  expect(await jobOf(db, stop)).toMatchObject({ state: 'succeeded', result: { power_state: 'off' } })
  expect((await instancesOf(db, 'vc'))[0]?.facts.power_state).toBe('off')
  expect((await worker.sync('vc', { mode: 'full' })).result).toMatchObject({
    reading: 'full',
    vanished: 0,
    appeared: 0,
  })
  expect((await instancesOf(db, 'vc')).map((row) => row.id)).toEqual(before.map((row) => row.id))
})

test('a vCenter that is a target has its machines adopted, with their hosts by name', async () => {
  const { fingerprint } = await siteOf(db, 'vc')
  await makeSite(db, {
    ...{ role: 'target', name: 'vc-cloud', kind: 'vsphere', connectivity: 'ok' },
    ...{ fingerprint, endpoint: simulator.url, ...vcsimAccount },
  })
  const worker = createInventoryWorker(db, openVsphere)
  const { state, result } = await worker.sync('vc-cloud', { role: 'target' })
  const known = (await instancesOf(db, 'vc')).filter(({ ignored }) => ignored === null)
  expect([state, result]).toMatchObject([
    'succeeded',
    { machines: known.length, appeared: known.length, instances: 0 },
  ])
  const machines = await db<{ ref: string; power: string; host: string; project: string }[]>`
    select ref, power, host, project from machine order by ref`
  expect(machines).toEqual(
    known.map(({ ref, facts: { power_state: power, host, resource_pool: project } }) => ({
      ref,
      power,
      host,
      project,
    })),
  )
  const hosts = await db`select name from host where site_id = (select id from site where name = 'vc-cloud')`
  expect(hosts.map(({ name }) => name)).toEqual(expect.arrayContaining(machines.map(({ host }) => host)))
  const again = await worker.sync('vc-cloud', { role: 'target', mode: 'full' })
  expect(again.result).toMatchObject({ changed: 0, vanished: 0, returned: 0, appeared: 0 })
})
