import { expect, test } from 'vitest'
import { advanceEntries } from '../../../src/migration/batch/scheduler.ts'
import { createEntryWorld, entryOf, placeEntry, sendTo } from '../../support/entry-world.ts'
import { quietLog } from '../../support/events.ts'
import { moveSite } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { createDatabase } from '../../support/postgres.ts'
import { freePort } from '../../support/temp.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(db, lab)
const { inventory, target } = world

const check = () => inventory.run('check-connection', { role: 'target', name: target.name })

// promise: wait-names-platform
test('an entry whose source is off names the platform that it waits for, and goes on when that answers', async () => {
  const { id } = await placeEntry(world, 'vm-101')
  const jobId = await sendTo(world, id, 'final-verify')
  await db`update entry set state = 'worker-done', stage = 'complete', source_stopped_at = now(),
    look_at = now() + interval '5 minutes' where id = ${id}::uuid`
  // As its job stands when it has been tried a few times in vain.
  await db`update job set run_after = now() + interval '10 minutes',
    error = '{"class": "environment", "code": "platform-unreachable", "message": "Nobody is there."}'
    where id = ${jobId}::uuid`
  await moveSite(db, target, { endpoint: `http://127.0.0.1:${await freePort()}/sites/cloud` })
  await check()
  await advanceEntries({ db, log: quietLog })
  expect(await entryOf(db, id)).toMatchObject({
    reason: 'target-not-connected',
    message: expect.stringMatching(
      /^The target cloud does not answer, since \d{4}-\d\d-\d\d \d\d:\d\d UTC: .*ECONNREFUSED/,
    ),
  })
  await moveSite(db, target, { endpoint: target.endpoint })
  await check()
  const [job] = await db<
    { due: boolean }[]
  >`select run_after <= now() + interval '1 millisecond' as due from job where id = ${jobId}::uuid`
  expect(job?.due).toBe(true)
  await advanceEntries({ db, log: quietLog })
  expect(await entryOf(db, id)).toMatchObject({ reason: 'working' })
})

test('a platform that answers again hurries nobody whose source runs', async () => {
  const { id } = await placeEntry(world, 'vm-102')
  const jobId = await sendTo(world, id, 'import-instance')
  await db`update job set run_after = now() + interval '10 minutes', error = '{"class": "environment"}'
    where id = ${jobId}::uuid`
  await db`update site set connectivity = 'cannot-connect' where id = ${target.id}::uuid`
  await check()
  const [job] = await db<
    { due: boolean }[]
  >`select run_after <= now() + interval '1 millisecond' as due from job where id = ${jobId}::uuid`
  expect(job?.due).toBe(false)
})
