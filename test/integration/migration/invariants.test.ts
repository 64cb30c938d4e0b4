import { beforeAll, expect, test } from 'vitest'
import type { Tx } from '../../../db/client.ts'
import { findStrayCopies, type TaggedMachine, taggedMachines } from '../../support/copy-invariants.ts'
import { createEntryWorld, entryOf, placeEntry, sendTo } from '../../support/entry-world.ts'
import { findViolations } from '../../support/invariants.ts'
import { createLab } from '../../support/lab.ts'
import { findMigrationViolations } from '../../support/migration-invariants.ts'
import { createDatabase } from '../../support/postgres.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)

const scene = { id: '', other: '', machine: '', job: '' }
let tagged: readonly TaggedMachine[] = []

beforeAll(async () => {
  const [cut, idle] = [await placeEntry(world, 'vm-101'), await placeEntry(world, 'vm-102')]
  const window = await db<{ id: string }[]>`
    insert into batch_window (id, batch_id, name, starts_at, ends_at) values (gen_random_uuid(), ${world.batch.id}::uuid, 'w',
      now() - interval '1 hour', now() + interval '1 hour') returning id`
  // One whose source is off, in its window; its job waits for the guest.
  const job = await sendTo(world, cut.id, 'cutover-instance')
  await db`update job set state = 'waiting', wait_reason = 'power', wait_detail = 'for the guest', wait_since = now(),
    wait_until = now() + interval '1 minute' where id = ${job}::uuid`
  await db`update entry set state = 'final-import', stage = 'final', window_id = ${window[0]?.id ?? ''}::uuid,
    source_stopped_at = now(), look_at = now() + interval '30 seconds' where id = ${cut.id}::uuid`
  Object.assign(scene, { id: cut.id, other: idle.id, machine: cut.machineRef ?? '', job })
  tagged = await taggedMachines(db, lab.database.db)
})

/** What the checkers find after a change that is never committed. */
const after = async (corrupt: (tx: Tx) => Promise<unknown>): Promise<string[]> => {
  let found: string[] = []
  const undo = new Error('never committed')
  await db
    .begin(async (tx) => {
      await corrupt(tx)
      found = [
        ...(await findMigrationViolations(tx)),
        ...(await findStrayCopies(tx, tagged)),
        // Its job was brought where it is by hand.
        ...(await findViolations(tx)).filter((sentence) => /^(rest|effects):/.test(sentence)),
      ]
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
  return found
}

test('a cutover in its window and a copy that waits break no law', async () => {
  expect(tagged.map(({ ref }) => ref)).toContain(scene.machine)
  expect((await entryOf(db, scene.id)).state).toBe('final-import')
  expect(await after(async () => {})).toEqual([])
})

type Corruption = readonly [name: string, corrupt: (tx: Tx) => Promise<unknown>, sentence: RegExp]

const cut = (tx: Tx) => tx`id = ${scene.id}::uuid`
const endJob = (tx: Tx) => tx`
  update job set state = 'succeeded', finished_at = now(), wait_reason = null, wait_detail = null, wait_since = null,
    wait_until = null where id = ${scene.job}::uuid`

const corruptions: readonly Corruption[] = [
  [
    'an effect that is intended although its job has ended',
    async (tx) => {
      await endJob(tx)
      await tx`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name)
        values (gen_random_uuid(), ${scene.job}::uuid, 'entry', ${scene.id}, 1, 'target-start', 'cloud', 'start')`
    },
    /^effects: .* is succeeded, but target-start start is still intended/,
  ],
  [
    'a copy whose entry is gone',
    async (tx) => tx`delete from entry where id = ${scene.other}::uuid`,
    /^copy: .* and nobody accounts for it/,
  ],
  [
    'a copy that its entry knows nothing of',
    async (tx) => tx`update entry set machine_ref = null where id = ${scene.other}::uuid`,
    /^copy: .* and nobody accounts for it/,
  ],
  [
    'a machine that is said to have been migrated without a proof',
    async (tx) => tx`
      insert into machine (id, target_id, ref, name, uuid, project, host, power, cpus, memory, origin, entry_id)
      values (gen_random_uuid(), ${world.target.id}::uuid, 'i-unproved', 'm', '', '', '', 'on', 1, 1, 'migrated',
        ${scene.other}::uuid)`,
    /^copy: machine i-unproved .* no certificate says so/,
  ],
  [
    'a source that is still off after its window',
    async (tx) => tx`update batch_window set ends_at = now() - interval '10 minutes'`,
    /^end: the source of entry .* is off, its window ended/,
  ],
  [
    'a source that is off and at which nobody looks by the end of its window',
    async (tx) => tx`update entry set look_at = now() + interval '2 hours' where ${cut(tx)}`,
    /^end: entry .* is looked at .* after its window's end/,
  ],
  [
    'a job that waits and does not say for whom',
    async (tx) => tx`update job set wait_detail = '' where id = ${scene.job}::uuid`,
    /^rest: job .* does not say whom or what/,
  ],
  [
    'an entry that waits for nothing',
    async (tx) => tx`update entry set message = '' where id = ${scene.other}::uuid`,
    /^attended: entry .* waits without a reason/,
  ],
  [
    'an entry at which nobody will look',
    async (tx) => tx`update entry set look_at = 'infinity' where id = ${scene.other}::uuid`,
    /^attended: entry .* nobody is going to look/,
  ],
]

test.each(corruptions)('%s is seen by the checkers', async (_name, corrupt, sentence) => {
  expect(await after(corrupt)).toContainEqual(expect.stringMatching(sentence))
})

test('a copy whose entry is gone is accounted for by what is owed or was taken over', async () => {
  for (const state of ['debt', 'waived'])
    expect(
      await after(async (tx) => {
        await tx`delete from entry where id = ${scene.other}::uuid`
        await tx`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, state, next_try_at,
            waived_by, waived_reason)
          values (gen_random_uuid(), ${scene.job}::uuid, 'entry', ${scene.other}, 0, 'target-clean-up', 'cloud', 'copy',
            ${state}, now(), 'ada', 'scrapped')`
      }),
    ).toEqual([])
})
