import { expect, test } from 'vitest'
import { ending, onEachFleet } from '../support/fleet.ts'
import { expectWhole } from '../support/load.ts'

const work = { effects: 1, steps: 2, step_ms: 60 }

const options = { workers: 1, conductors: 0, leaseMs: 5_000 }

await onEachFleet('kill -9 of the conductor', options, (fleet) => {
  // promise: killed-conductor
  test.each(
    fleet.share([
      ['relay-before-publish', 2],
      ['relay-between-publish-and-mark', 2],
      ['relay-after-mark', 2],
    ] as const),
  )('at %s (round %i): the next one rings, and no job runs twice', async (point, round) => {
    const armed = await fleet.conductor(`kill:${point}@${round}`)
    await armed.line('this conductor leads')
    const standBy = await fleet.conductor()
    const ids = await fleet.add(12, work)
    expect(await ending(armed)).toEqual({ code: null, signal: 'SIGKILL' })
    await fleet.ended(ids)
    await standBy.line('this conductor leads')
    await expectWhole(fleet.db, ids, work.effects)
    await expectOneTurnEach(ids)
  })

  // promise: killed-conductor
  test('in the middle of a sweep: the next one takes back what a dead worker held', async () => {
    const armed = await fleet.conductor('kill:conductor-mid-sweep')
    await armed.line('this conductor leads')
    const [standBy, doomed] = await Promise.all([fleet.conductor(), fleet.worker('kill:after-claim')])
    const { exit, ids } = await fleet.feed(doomed, 8, work)
    expect(exit.signal).toBe('SIGKILL')
    expect(await ending(armed)).toEqual({ code: null, signal: 'SIGKILL' })
    await fleet.ended(ids)
    await standBy.line('this conductor leads')
    await expectWhole(fleet.db, ids, work.effects)
    const lost = await fleet.db<{ losses: number }[]>`
      select count(*)::int as losses from event where type = 'job.lost' and job_id = any(${ids}::uuid[])
      group by job_id`
    expect(lost.length).toBeGreaterThan(0)
    expect(lost.filter(({ losses }) => losses > 1)).toEqual([])
  })

  test.each(fleet.share(['conductor-before-sweep', 'conductor-after-sweep'] as const))(
    'at %s: the next one goes on where it was',
    async (point) => {
      const ids = await fleet.add(12, work)
      // Not the first pass: it is to die as the leader of work under way.
      const armed = await fleet.conductor(`kill:${point}@12`)
      await armed.line('this conductor leads')
      const standBy = await fleet.conductor()
      expect(await ending(armed)).toEqual({ code: null, signal: 'SIGKILL' })
      const more = await fleet.add(6, work)
      await fleet.ended([...ids, ...more])
      await standBy.line('this conductor leads')
      await expectWhole(fleet.db, [...ids, ...more], work.effects)
    },
  )

  /** Bells may be rung twice; the claim lets one of them in. */
  const expectOneTurnEach = async (ids: readonly string[]) => {
    const again = await fleet.db`select id from job where id = any(${[...ids]}::uuid[]) and lease_epoch <> 1`
    expect(again).toEqual([])
  }
})
