import { expect, test } from 'vitest'
import { nudge } from '../../../src/ledger/jobs/nudge.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { makeBatch, type TestBatch } from '../../support/batch-world.ts'
import { onEachBell } from '../../support/bells.ts'
import { createEntryWorld, overlapsOf } from '../../support/entry-world.ts'
import { makeSite } from '../../support/inventory.ts'
import { createLab, type TestLab } from '../../support/lab.ts'
import { expectAlive, startRoles } from '../../support/roles.ts'
import { until } from '../../support/wait.ts'

const sealer = createSealer('5e'.repeat(32))
/** No more slots than there are machines of each sort that hang. */
const slots = 5
/** Cut over at once: nothing says what changed on them. */
const untracked = ['vm-101', 'vm-102', 'vm-103', 'vm-104', 'vm-106']
/** Copied first while they run. */
const tracked = ['vm-107', 'vm-108', 'vm-109', 'vm-110', 'vm-111']
/** One is copied while it runs, one is not, and the guest of one does not go down when it is asked to. */
const living = ['vm-112', 'vm-209', 'vm-210']

const loseTracking = async ({ database: { db } }: TestLab): Promise<void> => {
  await db`update lab.disk set tracking = null where site = 'vcenter' and machine = any(${untracked}::text[])`
  await db`
    update lab.machine set facts = (facts::jsonb || jsonb_build_object('background_import', false, 'disks',
      (select jsonb_agg(d || '{"change_id": null}') from jsonb_array_elements(facts::jsonb -> 'disks') d)))::json
    where site = 'vcenter' and ref = any(${untracked}::text[])`
}

await onEachBell('a source whose reads hang', ({ database: { db }, env }) => {
  /** Turns of these kinds that run now for a batch, and how many have ever come to an end. */
  const turnsOf = async ({ name }: TestBatch) => {
    const [row] = await db<{ copies: number; cutovers: number; ended: number }[]>`
      select count(*) filter (where state = 'running' and kind = 'import-instance')::int as copies,
        count(*) filter (where state = 'running' and kind = 'cutover-instance')::int as cutovers,
        (select count(*)::int from event e where e.from_state = 'running'
          and e.job_id in (select id from job where kind in ('import-instance', 'cutover-instance')
            and lane = ${`batch/${name}`})) as ended
      from job where lane = ${`batch/${name}`}`
    return { copies: 0, cutovers: 0, ended: 0, ...row }
  }

  // promise: hung-work
  test('keeps no machine of another batch switched off, and none from its turn', async () => {
    const dead = await createLab()
    await loseTracking(dead)
    const world = { ...(await createEntryWorld(db, dead, { sealer })), db }
    const other = await createLab({ seed: 7 })
    const site = { password: other.password, connectivity: 'ok', quiet: true, sealer }
    await makeSite(db, { ...site, name: 'rome', endpoint: other.endpoint('vcenter') })
    await world.inventory.sync('rome')
    const { conductors, workers } = await startRoles(
      {
        ...env,
        DROVER_CONCURRENCY: `import-instance=${slots},cutover-instance=${slots}`,
        DROVER_DRAIN_MS: '500',
      },
      { workers: 1 },
    )
    const calls = ['read', 'extents', 'changed-blocks']
    await dead.admin('POST /lab/faults', { kind: 'stall', site: 'vcenter', call: calls })
    const hanging = await makeBatch(world, {
      ...{ name: 'hangs', source: world.source.name, refs: [...untracked, ...tracked] },
    })
    await hanging.start()
    let seen = { copies: 0, cutovers: 0, ended: 0 }
    await until(
      async () => {
        const before = seen
        seen = await turnsOf(hanging)
        return seen.copies > 0 && seen.cutovers > 0 && JSON.stringify(seen) === JSON.stringify(before)
      },
      { what: 'the reads to hang in all slots that they get', everyMs: 2_000, withinMs: 120_000 },
    )
    const goes = await makeBatch(world, { name: 'goes', source: 'rome', refs: living })
    const before = await turnsOf(hanging)
    await goes.start()
    nudge(db)
    await until(async () => (await goes.entries()).filter(({ state }) => state === 'finished').length === 3, {
      what: 'the other batch to be done',
      withinMs: 50_000,
    }).catch(async (error: Error) => {
      const entries = await db`
        select facts ->> 'ref' as ref, state, stage, reason, message, error from entry where batch_id = ${goes.id}::uuid`
      const jobs =
        await db`select kind, lane, state, bell, tokens, wait_reason, wait_detail, error ->> 'message' as error from job where finished_at is null`
      throw new Error(`${error.message} Now: ${JSON.stringify({ entries, jobs }, null, 1)}`)
    })
    // What hangs at a call that has no answer yet is given up after a minute: all of it was still there.
    expect(await turnsOf(hanging)).toEqual(before)
    expect((await hanging.entries()).map(({ state }) => state)).not.toContain('finished')
    // No cutover of theirs gave its slot back before its copy was whole.
    const turns = await db<{ type: string }[]>`
      select e.type from event e join job j on j.id = e.job_id
      where j.lane = 'batch/goes' and j.kind = 'cutover-instance' and e.from_state = 'running'`
    expect(turns.map(({ type }) => type)).toEqual(living.map(() => 'job.succeeded'))
    expect(await overlapsOf(dead)).toEqual([])
    expectAlive(...conductors, ...workers)
  })
})
