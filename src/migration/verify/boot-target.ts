import { z } from 'zod'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { cleanInstance } from '../../domain/inventory/normalise.ts'
import { type Baseline, readBaseline } from '../../domain/migration/verify/baseline.ts'
import { decideBoot } from '../../domain/migration/verify/verify-boot.ts'
import {
  checkGuest,
  failedChecks,
  type GuestSeen,
  mayStillComeUp,
  type VerifyCheck,
} from '../../domain/migration/verify/verify-guest.ts'
import { durationMs } from '../../domain/text/duration.ts'
import { DroverError } from '../../errors.ts'
import { again } from '../../platforms/ports/bounded-wait.ts'
import { isUnsupported } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import type { PowerFacts } from '../../platforms/ports/power.ts'
import { callOf, targetOf } from '../copy/copy-task.ts'
import { noteEntry } from '../entry/entry-work.ts'
import { probedPorts } from '../entry/probed-ports.ts'
import { requireSourceOff, startTarget } from './start-target.ts'
import type { VerifyTask } from './verify-task.ts'

export type BootOutcome =
  | { readonly type: 'wait'; readonly forMs: number; readonly forWhat: string }
  | { readonly type: 'checked'; readonly checks: readonly VerifyCheck[] }

const storedBoot = z.object({
  starts: z.int(),
  waitedMs: z.number(),
  /** The start with this number succeeded or failed. */
  settled: z.int(),
  /** The last refusal of the target; empty: none. */
  refusal: z.string().default(''),
})
type Boot = z.infer<typeof storedBoot>

/** Starts the target, or leaves it off as required, and checks what the source had answered. */
export const bootTarget = async (task: VerifyTask): Promise<BootOutcome> => {
  const { ctx, entry, batch } = task.entryWork
  if (!entry.running) return { type: 'checked', checks: [await checkOff(task)] }
  const baseline = readBaseline(entry.baseline)
  const retries = batch.config.post_migration_retries
  const bootLimitMs = durationMs(batch.config.boot_limit)
  for (;;) {
    await task.pace()
    await requireSourceOff(task)
    const boot = readBoot(task)
    if (boot.starts > boot.settled) {
      const waits = await settleStart(task, boot)
      if (waits) return waits
      continue
    }
    const seen = await targetPower(task)
    const checks = seen.state === 'on' && boot.starts > 0 ? await lookInside(task, baseline) : undefined
    const lacking = checks === undefined || mayStillComeUp(checks)
    const decision = decideBoot({ power: seen.state, ...boot, lacking, bootLimitMs, retries })
    switch (decision.do) {
      case 'judge':
        return { type: 'checked', checks: [running(seen), ...judge(task, checks ?? [])] }
      case 'give-up':
        throw doesNotStart(task, boot)
      case 'wait':
        await keep(task, { ...boot, waitedMs: boot.waitedMs + decision.forMs })
        return { type: 'wait', forMs: decision.forMs, forWhat: decision.forWhat }
      case 'start':
        if (boot.starts > 0)
          await noteEntry(task.entryWork, (_, now) => Promise.resolve({ retries: now.retries + 1 }))
        await keep(task, { ...boot, starts: boot.starts + 1, waitedMs: 0 })
        ctx.safePoint()
    }
  }
}

const settleStart = async (task: VerifyTask, boot: Boot): Promise<BootOutcome | undefined> => {
  const outcome = await startTarget(task, boot.starts)
  if (outcome.type === 'wait') return { type: 'wait', forMs: outcome.forMs, forWhat: outcome.forWhat }
  // A failed start counts like a machine that went off again: it is retried after a pause.
  const refusal = outcome.type === 'failed' ? outcome.error.message : ''
  await keep(task, { ...readBoot(task), settled: boot.starts, waitedMs: 0, refusal })
  return undefined
}

const readBoot = ({ entryWork: { ctx } }: VerifyTask): Boot => {
  const stored = storedBoot.safeParse(ctx.checkpointed?.boot)
  return stored.success ? stored.data : { starts: 0, waitedMs: 0, settled: 0, refusal: '' }
}

const keep = ({ entryWork: { ctx } }: VerifyTask, boot: Boot): Promise<void> =>
  ctx.checkpoint({ ...ctx.checkpointed, boot })

const targetPower = async (task: VerifyTask): Promise<PowerFacts> => {
  const { platform, name, ref } = targetOf(task)
  const call = callOf(task, 'look')
  const seen = await again(call, () => portOf(platform, 'power').power(call, ref), { of: name })
  if (seen.found) return seen.value
  throw machineAbsent(ref)
}

/** The target's view of the verified machine. */
export const seenOnTarget = async (task: VerifyTask): Promise<InstanceFacts> => {
  const { platform, name, ref } = targetOf(task)
  const call = callOf(task, 'name')
  const seen = await again(call, () => portOf(platform, 'inventory').instance(call, ref), { of: name })
  if (seen.found) return cleanInstance(seen.value).facts
  throw machineAbsent(ref)
}

const machineAbsent = (ref: string): DroverError =>
  new DroverError({
    code: 'target-machine-absent',
    class: 'conflict',
    message: `The target has no machine ${ref} any more.`,
    remedy: 'Cancel the entry with cleanup, then retry it: its machine is made and copied anew.',
    detail: { ref },
  })

const lookInside = async (task: VerifyTask, baseline: Baseline | null): Promise<VerifyCheck[]> => {
  const probes = probedPorts(task.entryWork)
  // A probe that is newer than the baseline proves nothing, and the certificate says so.
  const asked = [...(baseline?.ports ?? []).map(({ port }) => port), ...probes.keys()]
  const ports = [...new Set(asked)].sort((a, b) => a - b)
  return checkGuest(baseline, await guestOf(task, ports), ports, probes)
}

const nothing: GuestSeen = { agent: 'unknown', hostname: '', addresses: [], open: [] }

/** On a platform that cannot look into guests, everything that the source showed counts as missing. */
const guestOf = async (task: VerifyTask, ports: readonly number[]): Promise<GuestSeen> => {
  const { platform, name, ref } = targetOf(task)
  const call = callOf(task, 'guest')
  try {
    const guest = portOf(platform, 'guest')
    const seen = await again(call, () => guest.guest(call, ref), { of: name })
    if (!seen.found) return nothing
    const { agent, hostname, addresses } = seen.value
    const open =
      ports.length === 0
        ? undefined
        : await again(call, () => guest.openPorts(call, ref, ports), { of: name })
    return { agent, hostname, addresses, open: open?.found ? open.value : [] }
  } catch (error) {
    if (isUnsupported(error)) return nothing
    throw error
  }
}

const running = ({ state }: PowerFacts): VerifyCheck => ({
  name: 'boot',
  expected: 'on',
  observed: state,
  result: state === 'on' ? 'passed' : 'failed',
})

const checkOff = async (task: VerifyTask): Promise<VerifyCheck> => {
  const { state } = await targetPower(task)
  if (state === 'off') return { name: 'boot', expected: 'off', observed: 'off', result: 'passed' }
  throw new DroverError({
    code: 'target-runs',
    class: 'conflict',
    message: `The target is ${state} although it is to stay off: somebody started it.`,
    remedy: 'Stop it on the target, then resolve the entry.',
  })
}

/** A failed check is for a person to decide, unless a person has already done so. */
const judge = (task: VerifyTask, checks: readonly VerifyCheck[]): readonly VerifyCheck[] => {
  const failed = failedChecks(checks)
  if (failed.length === 0 || task.force) return checks
  throw new DroverError({
    code: 'checks-failed',
    class: 'conflict',
    message: `The target runs, but it is not as its source was: ${failed
      .map(({ name, expected, observed, probes = [] }) => {
        const asked = probes.length > 0 ? ` (${probes.join(', ')})` : ''
        return `${name}${asked} is ${observed}, it was ${expected}`
      })
      .join('; ')}.`,
    remedy:
      'Mend it and resolve the entry; or set force_conflict_resolution of the batch and resolve the entry, to take it as it is.',
    detail: { failed: failed.map(({ name }) => name) },
  })
}

const doesNotStart = ({ entryWork: { facts } }: VerifyTask, { starts, refusal }: Boot): DroverError =>
  new DroverError({
    code: 'target-start-failed',
    class: 'conflict',
    message:
      refusal === ''
        ? `${facts.target_name} was started on its target (tries: ${starts}) and does not keep running.`
        : `${facts.target_name} could not be started on its target (tries: ${starts}): ${refusal}`,
    remedy:
      'Look at its console and at the target, then resolve the entry: it is tried once more from the beginning.',
    detail: { starts },
  })
