import { createHash } from 'node:crypto'
import { crashPoint } from '../../crash-point.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { PlatformError } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { type CopyTask, callOf, sourceOf, spenderOf, targetOf } from './copy-task.ts'
import { ExtentRecord } from './extent-record.ts'
import type { DiskPlan } from './plan-disk.ts'

const lanesMax = 4
/** Extents in flight when a copy is interrupted are sent again: per disk, at most one in this many. */
const cutShare = 100

/** Sends the planned extents, several at once, and records each extent when it is on the target. */
export const sendDisk = async (
  task: CopyTask,
  plan: DiskPlan,
  onSent: (bytes: number) => void,
): Promise<void> => {
  const record = new ExtentRecord(task.entryWork.ctx, plan)
  const lanes = Math.max(1, Math.min(lanesMax, Math.floor(plan.extents.count / cutShare)))
  let failed: { readonly error: unknown } | undefined
  const lane = async () => {
    try {
      while (!failed) {
        await task.pace()
        const at = await record.next()
        if (at === undefined) return
        crashPoint('before-extent')
        const digest = await sendExtent(task, plan, at)
        crashPoint('after-extent')
        await record.add({ at, digest })
        onSent(plan.extents.rangeOf(at).length)
      }
    } catch (error) {
      failed ??= { error }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  // Written extents are recorded even when the rest is abandoned, so that they are not sent again.
  if (failed) {
    if (!task.entryWork.ctx.signal.aborted) await record.flush()
    throw failed.error
  }
  await record.flush()
}

/** Reads an extent, checks its length and writes it; its bytes are out of memory afterwards. Returns the digest. */
const sendExtent = (task: CopyTask, plan: DiskPlan, at: number): Promise<Buffer> => {
  const range = plan.extents.rangeOf(at)
  const { ctx } = task.entryWork
  const { signal } = ctx
  const from = sourceOf(task)
  const to = targetOf(task)
  return task.budget.spend({ bytes: range.length, by: spenderOf(task) }, signal, async () => {
    const bytes = await again(
      ctx,
      () => portOf(from.platform, 'disks').read(callOf(task, `read-${at}`), plan.ref, range),
      { of: from.name },
    )
    if (bytes.length !== range.length) throw wrongLength(plan, bytes.length, range.length)
    const digest = createHash('sha256').update(bytes).digest()
    const target = { machine: to.ref, disk: plan.row.targetDisk }
    const write = () => {
      // A process that was frozen since the read must not overwrite what its successor has written.
      ctx.confirm()
      return portOf(to.platform, 'disks').write(callOf(task, `write-${at}`), target, range.offset, bytes)
    }
    await again(ctx, write, { of: to.name })
    return digest
  })
}

const wrongLength = (plan: DiskPlan, got: number, wanted: number): PlatformError =>
  new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `Disk ${plan.row.disk} gave ${got} bytes where ${wanted} were asked for.`,
    remedy: 'Look at the source: its disk, or what lies between, is not sound.',
  })
