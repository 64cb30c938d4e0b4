import { hostname } from 'node:os'
import type { z } from 'zod'
import type { Db } from '../../db/client.ts'
import { deleteMarker, insertMarker, markerExists } from '../../db/queries/jobs/self-test-world.ts'
import { selfTest } from '../../src/domain/job/kinds/self-test.ts'
import { DroverError } from '../../src/errors.ts'
import { defineHandler, done, type JobContext, waitFor } from '../../src/ledger/job.ts'
import type { CpuPool } from '../cpu-pool.ts'

type Payload = z.infer<typeof selfTest.payload>

/** Steps, effects, failures and waits on demand, against a small world outside the ledger. */
export const handleSelfTest = (world: Db, cpu: CpuPool) =>
  defineHandler(
    selfTest,
    async (ctx) => {
      await makeEffects(ctx, world)
      await takeSteps(ctx)
      if (ctx.payload.burn_ms > 0) await cpu.run('burn', { forMs: ctx.payload.burn_ms }, ctx.signal)
      const visits = Number(ctx.checkpointed?.visits ?? 0)
      switch (ctx.payload.outcome) {
        case 'succeed':
          return done({ steps: ctx.payload.steps, effects: ctx.payload.effects, host: hostname() })
        case 'fail':
          throw failure('permanent', 'This job was asked to fail, and did.')
        case 'fail-once':
          if (visits > 0) return done({ visits })
          await ctx.checkpoint({ ...ctx.checkpointed, visits: 1 })
          throw failure('transient', 'This job was asked to fail once, and did.')
        case 'wait':
          if (visits > 0) return done({ visits })
          await ctx.checkpoint({ ...ctx.checkpointed, visits: 1 })
          return waitFor({
            reason: 'self-test',
            detail: `waits for the signal self-test/${ctx.job.id}, or for its time`,
            forMs: 2_000,
            signal: `self-test/${ctx.job.id}`,
          })
      }
    },
    {
      'self-test-marker': async ({ effect }) => {
        await deleteMarker(world, { jobId: effect.jobId, name: effect.name, epoch: effect.epoch })
      },
    },
  )

const makeEffects = async (ctx: JobContext<Payload>, world: Db): Promise<void> => {
  for (let index = Number(ctx.checkpointed?.effects ?? 0); index < ctx.payload.effects; index += 1) {
    const name = `${ctx.job.id}-${index}`
    await ctx.effect({
      kind: 'self-test-marker',
      platform: 'self-test',
      name,
      undo: { name },
      observe: async () => ({ found: await markerExists(world, name) }),
      act: async () => {
        await insertMarker(world, { jobId: ctx.job.id, name, epoch: ctx.job.leaseEpoch })
        return { externalId: name }
      },
    })
    await ctx.checkpoint({ ...ctx.checkpointed, effects: index + 1 })
    ctx.progress({ done: index + 1, total: ctx.payload.effects, phase: 'effects' })
  }
}

const takeSteps = async (ctx: JobContext<Payload>): Promise<void> => {
  for (let step = 0; step < ctx.payload.steps; step += 1) {
    ctx.safePoint()
    await ctx.clock.sleep(ctx.payload.step_ms, ctx.signal)
    ctx.progress({ done: step + 1, total: ctx.payload.steps, phase: 'steps' })
  }
  ctx.safePoint()
}

const failure = (errorClass: 'permanent' | 'transient', message: string): DroverError =>
  new DroverError({
    code: 'self-test-failure',
    class: errorClass,
    message,
    remedy: 'Nothing to do: it shows what a failure looks like.',
  })
