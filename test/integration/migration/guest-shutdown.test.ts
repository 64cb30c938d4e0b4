import { afterEach, expect, test } from 'vitest'
import { readDown } from '../../../src/api/resources/fleet/down-view.ts'
import type { CertificateDocument } from '../../../src/certificate/document.ts'
import { lookNow } from '../../support/drive-entry.ts'
import { entryOf, powerOf, sendTo } from '../../support/entry-world.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { expectUnderWay, setPace } from '../../support/slow-tasks.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'
import { until } from '../../support/wait.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)
await world.setBatch({ config: { guest_shutdown_limit: '1h', boot_limit: '5m' } })

afterEach(() => setPace(lab, 0))

const certificateOf = async (entryId: string): Promise<CertificateDocument | undefined> => {
  const [row] = await db<{ document: CertificateDocument }[]>`
    select document from certificate where entry_id = ${entryId}::uuid`
  return row?.document
}

// promise: off-said-first
test('a guest that takes its time is not called off before it is, and the certificate has both times', async () => {
  const id = await world.place('vm-101')
  const job = await sendTo(world, id, 'cutover-instance')
  await setPace(lab, 200)
  const turn = world.worker.follow(job)
  await until(async () => (await effectsOf(db, job)).some(({ state }) => state === 'done'), {
    what: 'the guest to be asked',
    withinMs: 60_000,
  })
  await lab.pass(25_000)
  await expectUnderWay(lab, 'vm-101', 'guest-off')
  expect(await powerOf(world.from, 'vm-101')).toBe('on')

  await lookNow(world)
  const asked = await entryOf(db, id)
  expect(asked).toMatchObject({ state: 'final-import', reason: 'guest-shutting-down', sourceOffAt: null })
  expect(asked.message).toMatch(
    /^Its source was asked to shut down at .* and still runs: it is forced off at /,
  )
  const running = await readDown(db, {})
  expect(running).toMatchObject({
    count: 1,
    shutting_down: 1,
    head: '1 machine still runs that was asked to shut down for its migration',
    entries: [
      {
        since: asked.sourceStoppedAt?.toISOString(),
        shutdown: { until: asked.guestUntil?.toISOString(), end: 'forced' },
        times: expect.stringContaining('still running, forced off at'),
      },
    ],
  })

  // What the platform is asked for from now on is quick.
  await setPace(lab, 0)
  await lab.pass(3_600_000)
  await turn
  expect(await powerOf(world.from, 'vm-101')).toBe('off')
  const off = await entryOf(db, id)
  expect(off.sourceStoppedAt).toEqual(asked.sourceStoppedAt)
  expect(off.sourceOffAt?.getTime()).toBeGreaterThan(off.sourceStoppedAt?.getTime() ?? Number.NaN)
  const since = off.sourceOffAt?.toISOString()
  expect(await readDown(db, {})).toMatchObject({
    shutting_down: 0,
    head: '1 machine is off for its migration',
    entries: [{ since, shutdown: null }],
  })

  await world.verify(id)
  expect(await certificateOf(id)).toMatchObject({
    source_stopped_at: off.sourceStoppedAt?.toISOString(),
    source_off_at: since,
  })
})
