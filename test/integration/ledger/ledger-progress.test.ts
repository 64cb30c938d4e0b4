import { expect, test } from 'vitest'
import { onEachFleet } from '../../support/fleet.ts'

await onEachFleet('progress', { workers: 1 }, (fleet) => {
  test('of a job that ends before any heartbeat is known when it has ended', async () => {
    const [id = ''] = await fleet.add(1, { steps: 3 })
    await fleet.ended([id])
    const [job] = await fleet.db<{ progress: unknown }[]>`select progress from job where id = ${id}::uuid`
    expect(job?.progress).toEqual({ done: 3, total: 3, phase: 'steps', last_progress_at: expect.any(String) })
  })
})
