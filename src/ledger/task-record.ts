import { z } from 'zod'
import type { JobContext } from './job.ts'

/** The progress of a task, kept over all turns. */
export interface TaskProgress {
  /** Failed tasks: each retry has a new name. */
  readonly failed: number
  readonly ended: boolean
  readonly result: string | null
}

/** Where a task is recorded. A subject with a record of its own keeps the number of failed tasks there. */
export interface TaskRecord {
  readonly read: () => TaskProgress
  readonly write: (progress: TaskProgress) => Promise<void>
}

type Recording = Pick<JobContext, 'checkpoint' | 'checkpointed'>

const fresh: TaskProgress = { failed: 0, ended: false, result: null }
/** Also for jobs that an older version began. */
const storedProgress = z.looseObject({
  failed: z.number(),
  ended: z.boolean().default(false),
  result: z.string().nullable().default(null),
})

/** The record of a task in the checkpoint; undefined: none. */
export const readTask = ({ checkpointed }: Recording, part: string): TaskProgress | undefined =>
  storedProgress.safeParse(checkpointed?.[part]).data

export const inCheckpoint = (ctx: Recording, part: string): TaskRecord => ({
  read: () => readTask(ctx, part) ?? fresh,
  write: (progress) => ctx.checkpoint({ ...ctx.checkpointed, [part]: progress }),
})

/** The same for tasks whose result the subject records itself: only failures are kept, and the end costs no write. */
export const failuresInCheckpoint = (ctx: Recording, part: string): TaskRecord => {
  const { read, write } = inCheckpoint(ctx, part)
  return {
    read: () => ({ ...fresh, failed: read().failed }),
    write: async (progress) => {
      if (!progress.ended) await write(progress)
    },
  }
}

/** The result is gone, or is not what was requested: the next turn makes it again, under the next name. */
export const makeAnew = async (ctx: Recording, part: string): Promise<void> => {
  const record = inCheckpoint(ctx, part)
  await record.write({ ...record.read(), ...fresh, failed: record.read().failed + 1 })
}
