import { expect, test } from 'vitest'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import type { Connection } from '../../../src/platforms/ports/connection.ts'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import { type Platform, portOf } from '../../../src/platforms/ports/ports.ts'
import { addMigrated } from '../../api/inventory/inventory-rows.ts'
import { createInventoryWorker, instanceOf, makeSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf, jobOf } from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()

const bootOf = async (ref: string): Promise<string> => {
  const site = await lab.signIn('vcenter')
  return ((await site.call(`GET /instances/${ref}/power`)).json as { boot_id: string }).boot_id
}

const boots = new Map<string, string>()
/** Of these nothing but an answer of the platform tells that a disk is tracked. */
const mute = new Set<string>()

/** The lab as some platforms are: tracking that was switched on begins with the next start of the machine. */
const openSlow = (connection: Connection): Platform => {
  const platform = openLab(connection)
  const hasBegun = async (ref: string) => {
    const boot = await bootOf(ref)
    return boot !== '' && boot !== boots.get(ref)
  }
  const inventory = portOf(platform, 'inventory')
  const disks = portOf(platform, 'disks')
  return {
    ...platform,
    ports: {
      ...platform.ports,
      inventory: {
        ...inventory,
        instance: async (call, ref) => {
          const found = await inventory.instance(call, ref)
          if (!found.found || (!mute.has(ref) && (await hasBegun(ref)))) return found
          const hidden = found.value.disks.map((disk) => ({ ...disk, change_id: null }))
          return { found: true, value: { ...found.value, disks: hidden } }
        },
      },
      disks: {
        ...disks,
        changedBlocks: async (call, disk, changeId) => {
          if (await hasBegun(disk.machine)) return disks.changedBlocks(call, disk, changeId)
          throw new PlatformError({
            ...{
              code: 'platform-refused',
              failure: 'refused',
              message: 'Not yet.',
              remedy: 'Start it anew.',
            },
          })
        },
      },
    },
  }
}

await makeSite(db, {
  name: 'vc',
  endpoint: lab.endpoint('vcenter'),
  password: lab.password,
  connectivity: 'ok',
})
const worker = createInventoryWorker(db, openSlow)
await worker.sync('vc')

const enable = async (ref: string) => {
  boots.set(ref, await bootOf(ref))
  const { id } = await instanceOf(db, 'vc', ref)
  return worker.run('track-instance', { instance: id, verb: 'enable', remove_snapshots: true })
}
/** Lets a job that rests have its next turn at once. */
const next = async (id: string) => {
  await db`update job set state = 'ready', bell = 'due', run_after = now(), wait_reason = null, wait_since = null,
    wait_until = null, wait_signal = null where id = ${id}::uuid`
  await worker.follow(id)
}

test('where tracking begins with a start, the machine is switched off and on once, and each disk is verified', async () => {
  const id = await enable('vm-101')
  for (let turns = 0; (await jobOf(db, id)).state === 'waiting' && turns < 20; turns += 1) await next(id)
  expect(await jobOf(db, id)).toMatchObject({
    state: 'succeeded',
    result: { tracking: { 2000: 'verified' } },
  })
  expect(await bootOf('vm-101')).not.toBe('')
  const steps = (await effectsOf(db, id)).map(({ kind, name }) => `${kind} ${name.replace(`${id}/`, '')}`)
  expect(steps).toEqual(['instance-change track', 'instance-cycle off/shutdown', 'instance-power on/start'])
})

test('a machine that was switched off only for that is switched on again when the job is given up', async () => {
  await lab.admin('POST /lab/faults', {
    kind: 'error',
    call: 'start',
    machine: 'vm-102',
    times: 1,
    failure: 'refused',
  })
  const id = await enable('vm-102')
  for (let turns = 0; (await jobOf(db, id)).state === 'waiting' && turns < 20; turns += 1) await next(id)
  expect(await jobOf(db, id)).toMatchObject({ state: 'ready', error: { code: 'platform-fault' } })
  expect(await bootOf('vm-102')).toBe('')
  await requestCancel(db, id, { by: 'ann', reason: 'it took too long' })
  await next(id)
  expect(await jobOf(db, id)).toMatchObject({ state: 'canceled' })
  expect(await bootOf('vm-102')).not.toBe('')
  expect((await effectsOf(db, id)).filter(({ state }) => state === 'debt')).toEqual([])
})

test('a source that is away when a disk is to be verified has not said no', async () => {
  mute.add('vm-105')
  const struck = { kind: 'error', call: 'changed-blocks', machine: 'vm-105', times: 1 }
  await lab.admin('POST /lab/faults', { ...struck, code: 'platform-unreachable', failure: 'refused' })
  const id = await enable('vm-105')
  for (let turns = 0; (await jobOf(db, id)).finishedAt === null && turns < 20; turns += 1) await next(id)
  const { json } = await lab.admin('GET /lab/faults')
  expect((json as { faults: unknown[] }).faults.at(-1)).toMatchObject({ struck: 1 })
  expect(await jobOf(db, id)).toMatchObject({
    state: 'succeeded',
    result: { tracking: { 2000: 'verified' } },
  })
})

test('a machine that was migrated meanwhile is not switched on again', async () => {
  const fault = { kind: 'error', call: 'start', machine: 'vm-103', times: 1, failure: 'refused' }
  await lab.admin('POST /lab/faults', fault)
  const id = await enable('vm-103')
  for (let turns = 0; (await jobOf(db, id)).state === 'waiting' && turns < 20; turns += 1) await next(id)
  expect(await bootOf('vm-103')).toBe('')
  await addMigrated(db, (await instanceOf(db, 'vc', 'vm-103')).id, 'wave-9')
  await requestCancel(db, id, { by: 'ann', reason: 'it took too long' })
  await next(id)
  expect(await jobOf(db, id)).toMatchObject({ state: 'canceled' })
  expect(await bootOf('vm-103')).toBe('')
})

test('snapshots are in the way until somebody says that they may go', async () => {
  const site = await lab.signIn('vcenter')
  await site.done('POST /instances/vm-209/snapshots', { name: 'before', memory: false, quiesce: false })
  await worker.sync('vc')
  const { id: instance } = await instanceOf(db, 'vc', 'vm-209')
  const refused = await worker.run('track-instance', { instance, verb: 'enable' })
  expect(await jobOf(db, refused)).toMatchObject({ state: 'failed', error: { code: 'snapshots-present' } })
  expect((await instanceOf(db, 'vc', 'vm-209')).facts.snapshots).toHaveLength(1)
  const id = await enable('vm-209')
  for (let turns = 0; (await jobOf(db, id)).state === 'waiting' && turns < 20; turns += 1) await next(id)
  expect(await jobOf(db, id)).toMatchObject({ state: 'succeeded' })
  expect((await instanceOf(db, 'vc', 'vm-209')).facts.snapshots).toEqual([])
})
