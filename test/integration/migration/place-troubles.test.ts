import { expect, test } from 'vitest'
import { listEntryDisks } from '../../../db/queries/copies/entry-disks.ts'
import { insertPause } from '../../../db/queries/fleet/pauses.ts'
import type { InstanceFacts } from '../../../src/domain/inventory/facts.ts'
import { utcText } from '../../../src/domain/text/utc-text.ts'
import { advanceEntries } from '../../../src/migration/batch/scheduler.ts'
import { ownerOfEntry } from '../../../src/migration/target/ownership.ts'
import { machineKind } from '../../../src/migration/target/target-machine.ts'
import { createCopyWorker } from '../../support/copy-worker.ts'
import { entryOf } from '../../support/entry-world.ts'
import { quietLog } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { makeSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf, storyOf } from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import {
  addMachine,
  codesOf,
  fittingScript,
  isThere,
  oursOf,
  sendPlace,
  setBatch,
  waitingEntry,
} from '../../support/placing.ts'
import { createPlacing } from '../../support/placing-worker.ts'
import { createDatabase } from '../../support/postgres.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const lab = await createLab()
const { world, worker, place } = await createPlacing(db, lab)
await setBatch(world, { config: { placement_scriptlet: fittingScript } })

const withFault = async <Result>(
  fault: Record<string, unknown>,
  work: () => Promise<Result>,
): Promise<Result> => {
  await lab.admin('POST /lab/faults', fault)
  try {
    return await work()
  } finally {
    await lab.admin('DELETE /lab/faults')
  }
}

/** How often the fault has struck. */
const struck = async (): Promise<number> => {
  const { json } = await lab.admin('GET /lab/faults')
  return (json as { faults: { struck: number }[] }).faults.reduce((sum, fault) => sum + fault.struck, 0)
}

test('a stranger who has the name keeps his machine, and the entry is blocked', async () => {
  // The last look at the target is older than the stranger: only its refusal tells.
  await place(await waitingEntry(world, 'vm-206'))
  const stranger = await addMachine(world, { name: 'web-01' })
  const id = await waitingEntry(world, 'vm-101')
  const job = await place(id)
  expect(job).toMatchObject({ state: 'succeeded', result: { blocked: ['name-taken'] } })
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'blocked', jobId: null, placement: null, machineRef: null, tries: 1 })
  expect(codesOf(entry)).toEqual(['name-taken'])
  expect((await effectsOf(db, job.id)).map(({ state }) => state)).toEqual(['undone'])
  expect(await isThere(world, stranger)).toBe(true)
  expect(await oursOf(world, id)).toEqual([])
  await world.to.done(`DELETE /instances/${stranger}`)
  await place(id)
  expect(await entryOf(db, id)).toMatchObject({ state: 'idle' })
})

test.each(['create', 'task', 'find-owned', 'owner'])(
  'the answer to %s is lost: there is one machine in the end',
  async (call) => {
    const id = await waitingEntry(world, 'vm-102')
    await withFault({ kind: 'lost-answer', call, times: 1, site: 'cloud' }, async () => {
      await place(id)
      expect(await struck()).toBe(1)
    })
    const entry = await entryOf(db, id)
    expect(entry).toMatchObject({ state: 'idle' })
    expect(await oursOf(world, id)).toEqual([entry.machineRef])
    await world.to.done(`DELETE /instances/${entry.machineRef}`)
  },
)

test('a machine of ours that an earlier try left is taken over when it fits, and replaced when it does not', async () => {
  const id = await waitingEntry(world, 'vm-103')
  await place(id)
  const { machineRef: fits } = await entryOf(db, id)
  await db`update entry set state = 'waiting', machine_ref = null where id = ${id}::uuid`
  const owner = await ownerOfEntry(db, id)
  const odd = await addMachine(world, { name: 'left-2', owner, disks: [{ key: '2000', capacity: 65_536 }] })
  await place(id)
  expect(await entryOf(db, id)).toMatchObject({ state: 'idle', machineRef: fits })
  expect(await isThere(world, odd)).toBe(false)
  expect(await oursOf(world, id)).toEqual([fits])
})

test('a retry keeps the machine it had with what was copied to it; a machine that changed is made anew', async () => {
  const id = await waitingEntry(world, 'vm-104')
  await place(id)
  const { machineRef } = await entryOf(db, id)
  await db`update entry_disk set change_id = 'copied' where entry_id = ${id}::uuid`
  const again = async () => {
    await db`update entry set state = 'waiting', stage = 'background' where id = ${id}::uuid`
    const { result } = await place(id)
    return { kept: result?.kept, ids: (await listEntryDisks(db, id)).map(({ changeId }) => changeId) }
  }
  expect(await again()).toEqual({ kept: true, ids: ['copied'] })
  expect((await entryOf(db, id)).machineRef).toBe(machineRef)
  await world.to.done(`DELETE /instances/${machineRef}`)
  expect(await again()).toEqual({ kept: false, ids: [null] })
  expect(await oursOf(world, id)).toEqual([(await entryOf(db, id)).machineRef])
})

test.each([
  ['pool', 'vm-110', { script: fittingScript.replace("'ceph'", "'local'") }],
  ['name', 'vm-111', { facts: { target_name: 'renamed' } }],
  ['firmware', 'vm-210', { facts: { legacy_boot: true } }],
] as const)('a machine with another %s than is wanted now is not taken over', async (_what, ref, now) => {
  const id = await waitingEntry(world, ref)
  await place(id)
  const before = await entryOf(db, id)
  await db`update entry_disk set change_id = 'copied' where entry_id = ${id}::uuid`
  if ('script' in now) await setBatch(world, { config: { placement_scriptlet: now.script } })
  await db`update entry set state = 'waiting', stage = 'background',
    facts = facts || ${JSON.stringify('facts' in now ? now.facts : {})}::text::jsonb where id = ${id}::uuid`
  expect((await place(id)).result).toMatchObject({ kept: false })
  await setBatch(world, { config: { placement_scriptlet: fittingScript } })
  const { machineRef, placement, facts } = await entryOf(db, id)
  expect(machineRef).not.toBe(before.machineRef)
  expect(await oursOf(world, id)).toEqual([machineRef])
  expect((await listEntryDisks(db, id)).every(({ changeId }) => changeId === null)).toBe(true)
  const { json } = await world.to.call(`GET /instances/${machineRef}`)
  const made = (json as { facts: InstanceFacts }).facts
  expect([made.name, made.legacy_boot]).toEqual([facts.target_name, facts.legacy_boot])
  const pools = Object.values((placement as { pools: Record<string, string> }).pools)
  expect(made.disks.map(({ datastore }) => datastore)).toEqual(pools)
  // The others need the room.
  await world.to.done(`DELETE /instances/${machineRef}`)
})

test('sent to another target than before, it leaves no machine on the old one', async () => {
  const id = await waitingEntry(world, 'vm-109')
  await place(id)
  const { machineRef: old } = await entryOf(db, id)
  const site = { role: 'target' as const, connectivity: 'ok', quiet: true, password: lab.password }
  const other = await makeSite(db, { ...site, name: 'other', endpoint: lab.endpoint('cloud') })
  await setBatch(world, {
    config: {
      placement_scriptlet: `${fittingScript}; const p = placement
    globalThis.placement = (instance) => { p(instance); setTarget('other') }`,
    },
  })
  await db`update entry set state = 'waiting' where id = ${id}::uuid`
  await place(id)
  await setBatch(world, { config: { placement_scriptlet: fittingScript } })
  const entry = await entryOf(db, id)
  expect(entry).toMatchObject({ state: 'idle', targetId: other.id })
  expect(await isThere(world, String(old))).toBe(false)
  expect(await oursOf(world, id)).toEqual([entry.machineRef])
})

test('a target that has no room by then is tried a few times, and then the entry makes way for others', async () => {
  const id = await waitingEntry(world, 'vm-105')
  const full = { act: 'capacity-gone', site: 'cloud', of: 'storage', ref: 'ceph' }
  const job = await withFault({ kind: 'act', call: 'create', times: 1, do: full }, () => place(id))
  expect(job).toMatchObject({
    state: 'failed',
    error: { code: 'platform-no-capacity', class: 'environment' },
  })
  expect(await oursOf(world, id)).toEqual([])
  expect(await checkInvariants(db)).toEqual([])
  await advanceEntries({ db, log: quietLog })
  expect(await entryOf(db, id)).toMatchObject({ state: 'waiting', tries: 1, reason: 'platform-no-capacity' })
  await lab.admin('POST /lab/acts', { ...full, act: 'capacity-back' })
})

test('a cancelled job takes its machine away, and nobody else’s', async () => {
  const stranger = await addMachine(world, { name: 'bystander' })
  const id = await waitingEntry(world, 'vm-106')
  const jobId = await sendPlace(world, id)
  await withFault({ kind: 'error', call: 'instance', site: 'cloud', failure: 'unknown' }, () =>
    worker.follow(jobId),
  )
  expect(await oursOf(world, id)).toHaveLength(1)
  await requestCancel(db, jobId, { by: 'test', reason: 'called off' })
  expect(await worker.finish(jobId)).toMatchObject({ state: 'canceled' })
  expect((await effectsOf(db, jobId)).map(({ state }) => state)).toEqual(['undone'])
  expect(await oursOf(world, id)).toEqual([])
  expect(await isThere(world, stranger)).toBe(true)
})

test('while an earlier try still owes the taking away of its machine, nothing is taken over', async () => {
  const id = await waitingEntry(world, 'vm-107')
  const first = await sendPlace(world, id)
  await withFault({ kind: 'error', call: 'instance', site: 'cloud', failure: 'unknown' }, () =>
    worker.follow(first),
  )
  await requestCancel(db, first, { by: 'test', reason: 'called off' })
  await withFault({ kind: 'error', call: 'destroy', site: 'cloud', failure: 'unknown' }, () =>
    worker.finish(first),
  )
  expect((await effectsOf(db, first)).map(({ kind, state }) => [kind, state])).toEqual([
    [machineKind, 'debt'],
  ])
  await db`update entry set state = 'waiting', placement = null where id = ${id}::uuid`
  const second = await sendPlace(world, id)
  expect(await worker.follow(second)).toMatchObject({ state: 'waiting', waitReason: 'earlier-machine' })
  await db`update effect set state = 'waived' where job_id = ${first}::uuid`
  const left = await oursOf(world, id)
  expect(await worker.finish(second)).toMatchObject({ state: 'succeeded' })
  expect(await oursOf(world, id)).toEqual(left)
})

test('a stopped batch is let go of before anything is made, and goes on from there', async () => {
  const id = await waitingEntry(world, 'vm-108')
  const jobId = await sendPlace(world, id)
  const lane = `batch/${world.batch.name}`
  const fault = { kind: 'delay', call: 'find-owned', site: 'cloud', ms: 5_000, times: 1 }
  await withFault(fault, async () => {
    const turn = worker.follow(jobId)
    await until(async () => (await struck()) === 1, { what: 'the worker to look at the target' })
    await db.begin((tx) => insertPause(tx, { scope: 'lane', name: lane, by: 'test', reason: 'stopped' }))
    await turn
  })
  expect(await storyOf(db, jobId)).toContain('job.released running>ready')
  expect(await entryOf(db, id)).toMatchObject({ state: 'creating', jobId })
  expect(await oursOf(world, id)).toEqual([])
  await db`delete from pause where name = ${lane}`
  expect(await worker.finish(jobId)).toMatchObject({ state: 'succeeded', attempt: 0 })
  expect(await oursOf(world, id)).toEqual([(await entryOf(db, id)).machineRef])
})

// promise: bounded-tries
test('a machine that cannot be made is tried again until a moment that is shown, and then a person is asked', async () => {
  const allowed = { allow_no_ipv4: true, allow_unknown_os: true }
  await setBatch(world, {
    config: { placement_scriptlet: fittingScript, instance_restriction_overrides: allowed },
  })
  const id = await waitingEntry(world, 'vm-112')
  const fault = {
    kind: 'error',
    call: 'create',
    site: 'cloud',
    code: 'platform-no-capacity',
    failure: 'refused',
  }
  await withFault(fault, async () => {
    await place(id)
    await advanceEntries({ db, log: quietLog })
    const first = await entryOf(db, id)
    expect(first).toMatchObject({ state: 'waiting', reason: 'platform-no-capacity', tries: 1 })
    const [{ until: asked } = {}] = first.reasons
    expect(Date.parse(String(asked)) - first.updatedAt.getTime()).toBeGreaterThan(11 * 3_600_000)
    expect(first.message).toContain(utcText(Date.parse(String(asked))))
    await createCopyWorker(world).finish(first.jobId ?? '')
    await place(id)
    await advanceEntries({ db, log: quietLog })
    expect((await entryOf(db, id)).reasons).toMatchObject([{ until: asked }])
    await place(id)
    await db`update entry set reasons = jsonb_set(reasons, '{0,until}', to_jsonb(now() - interval '1 second'))
      where id = ${id}::uuid`
    await advanceEntries({ db, log: quietLog })
  })
  expect(await entryOf(db, id)).toMatchObject({ state: 'error', reason: 'platform-no-capacity', reasons: [] })
})
