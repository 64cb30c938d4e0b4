import type { Queryable, Tx } from '../../../db/client.ts'
import { listMovesUnderWay, lockMovesOf } from '../../../db/queries/operations/list-moves-under-way.ts'
import { listSiteThings } from '../../../db/queries/sites/list-site-things.ts'
import { setJobTokens } from '../../../db/queries/tokens/set-job-tokens.ts'
import { noteSlotWait } from '../../../db/queries/tokens/slot-wait.ts'
import { readAdmissionLimits } from '../../../db/queries/tokens/tokens.ts'
import { thingOf, tokenLimit } from '../../domain/job/token.ts'
import { readParams } from '../../domain/operation/kinds/params.ts'
import { type OperationReason, operationReasons } from '../../domain/operation/kinds/reasons.ts'
import {
  type HostSeen,
  hostsToTry,
  isHost,
  type MoveNeeds,
  whyNone,
  whyUnsuited,
} from '../../domain/operation/move/pick-move-host.ts'
import { DroverError } from '../../errors.ts'
import { releaseAndAdmit } from '../../ledger/jobs/admission.ts'
import { isAbsent, PlatformError } from '../../platforms/ports/platform-error.ts'
import { portOf } from '../../platforms/ports/ports.ts'
import { callOf } from '../perform/look-at-machine.ts'
import { underMachineLock } from '../perform/machine-lock.ts'
import type { Performance, PerformWait } from '../perform/performer.ts'
import { type HostName, type MovePlan, storePlan } from './move-plan.ts'

const hostsMost = 10_000
/** The most suitable hosts that are checked in one turn. */
const checksMost = 5
const shortestMs = 5_000
const longestMs = 60_000

/** The host that a person has named; null: Drover chooses. */
export const namedHost = ({ operation }: Performance): string | null =>
  operation.kind === 'migrate' ? (readParams('migrate', operation.params).host ?? null) : null

/** The hosts of the target as last seen, with the machines that are on their way to them. */
export const seeHosts = async (db: Queryable, { operation, target }: Performance): Promise<HostSeen[]> => {
  const filter = { role: 'target', site: target.name, gone: false } as const
  const lines = await listSiteThings(db, 'host', filter, { after: undefined, limit: hostsMost })
  const moves = await listMovesUnderWay(db, { targetId: target.id, but: operation.id })
  const limits = await readAdmissionLimits(db)
  return lines.map(({ facts }) => {
    const token = inboundToken(target.name, facts.name)
    const inbound = moves.filter(({ tokens }) => tokens.includes(token))
    const coming = inbound.reduce((sum, { memory }) => sum + memory, 0)
    return {
      ref: facts.ref,
      name: facts.name,
      cluster: facts.cluster,
      state: facts.state,
      cpuClass: facts.cpu_class,
      freeMemory: facts.memory - facts.memory_used - coming,
      slots: tokenLimit(token, limits) - inbound.length,
    }
  })
}

const inboundToken = (target: string, host: string): string => `host-inbound-moves/${thingOf(target, host)}`

/**
 * The tokens that a move holds until it ends. They include those for the memory copy, because no platform can pause a
 * move between its preparation and its copy.
 */
export const moveTokens = (target: string, from: HostName, to: HostName): string[] => [
  inboundToken(target, to.name),
  `host-outbound-moves/${thingOf(target, from.name)}`,
  `host-move-syncs/${thingOf(target, from.name)}`,
  `target-moves/${thingOf(target)}`,
]

/** A suitable host, and whether its slots are held already. */
interface Picked {
  readonly host: HostName
  readonly held: boolean
}

/** A host that would take the machine now and whose slots are held, or a wait. */
export const takeHost = async (
  performance: Performance,
  plan: MovePlan,
): Promise<{ readonly type: 'ready'; readonly plan: MovePlan } | PerformWait> => {
  const refused = new Map<string, PlatformError>()
  let asks = false
  while (refused.size < checksMost) {
    const picked = await pick(performance, plan, [...refused.keys()])
    if ('why' in picked) return noHost(performance, plan, { why: picked.why, refused })
    asks ||= !picked.held
    const refusal = await refusalOf(performance, picked.host.ref)
    if (!refusal) return stand(performance, plan, { host: picked.host, held: !asks })
    refused.set(picked.host.ref, refusal)
    if (namedHost(performance) !== null) return refusedNamed(performance, plan, refusal)
  }
  return noHost(performance, plan, { why: '', refused })
}

/** Chooses a host and asks for its slots under the lock, so that the next move sees the choice. */
const pick = (
  performance: Performance,
  plan: MovePlan,
  but: readonly string[],
): Promise<Picked | { readonly why: string }> => {
  const { ctx, operation, target } = performance
  return underMachineLock(performance, async (tx) => {
    await lockMovesOf(tx, target.id)
    const host = await choose(tx, performance, plan, but)
    if ('why' in host) return host
    const held = !(await setJobTokens(tx, ctx.job.id, moveTokens(target.name, plan.from, host)))
    if (!held) await lineUp(tx, { jobId: ctx.job.id, operationId: operation.id })
    return { host, held }
  })
}

/**
 * Gives back every slot held for another host: slots are granted all or nothing, and an operation that held what it
 * also waits for would block itself. The deadline is paused from this change on.
 */
const lineUp = async (
  tx: Tx,
  { jobId, operationId }: { readonly jobId: string; readonly operationId: string },
): Promise<void> => {
  await releaseAndAdmit(tx, [jobId])
  await noteSlotWait(tx, operationId, true)
}

const choose = async (
  tx: Tx,
  performance: Performance,
  plan: MovePlan,
  but: readonly string[],
): Promise<HostName | { readonly why: string }> => {
  const hosts = await seeHosts(tx, performance)
  const from = hosts.find((host) => isHost(host, plan.from.ref) || isHost(host, plan.from.name))
  const needs: MoveNeeds = { from, memory: performance.machine.memory }
  const named = namedHost(performance)
  if (named !== null) return chooseNamed(performance, { hosts, needs, named })
  const fitting = hostsToTry(hosts, needs).filter(({ ref }) => !but.includes(ref))
  const fresh = fitting.filter(({ ref }) => !plan.spent.includes(ref))
  const order = fresh.length > 0 ? fresh : fitting
  // The host of the earlier choice comes first: the operation has queued for it.
  const best = order.find(({ ref }) => ref === plan.to?.ref) ?? order[0]
  return best ? { ref: best.ref, name: best.name } : { why: whyNone(hosts, needs) }
}

const chooseNamed = (
  performance: Performance,
  asked: { readonly hosts: readonly HostSeen[]; readonly needs: MoveNeeds; readonly named: string },
): HostName | { readonly why: string } => {
  const { hosts, needs, named } = asked
  const host = hosts.find((one) => isHost(one, named))
  if (!host) throw unsuitable(performance, `${performance.target.name} has no host ${named}`)
  const unsuited = whyUnsuited(host, needs)
  if (unsuited?.lasts) throw unsuitable(performance, `${host.name} ${unsuited.why}`)
  return unsuited ? { why: `${host.name} ${unsuited.why}.` } : { ref: host.ref, name: host.name }
}

/** Why the platform would not move the machine there now; throws errors that say nothing about the host. */
const refusalOf = async (performance: Performance, host: string): Promise<PlatformError | undefined> => {
  const { operation, machine, platform } = performance
  try {
    const to = { host, force: operation.force }
    await portOf(platform, 'liveMove').checkMove(callOf(performance, 'check-move'), machine.ref, to)
    return undefined
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (isAbsent(error) || hostTroubles.includes(error.code)) return error
    throw error
  }
}

const hostTroubles: readonly string[] = [
  'platform-no-capacity',
  'platform-refused',
  'platform-unreachable',
  'platform-absent',
]

/** Goes on when the slots are held, otherwise queues for them. */
const stand = async (
  performance: Performance,
  plan: MovePlan,
  { host, held }: Picked,
): ReturnType<typeof takeHost> => {
  const next = { ...plan, to: host, vain: 0 }
  if (plan.to?.ref !== host.ref || plan.vain > 0) await storePlan(performance, next)
  if (held) return { type: 'ready', plan: next }
  const tokens = moveTokens(performance.target.name, plan.from, host)
  const detail = `${operationReasons['awaiting-slot'].title}: ${tokens.join(', ')}.`
  return { type: 'wait', reason: 'awaiting-slot', detail, forMs: 1, progress: 2 }
}

const refusedNamed = (
  performance: Performance,
  plan: MovePlan,
  refusal: PlatformError,
): Promise<PerformWait> => {
  if (refusal.code === 'platform-refused' || isAbsent(refusal)) throw unsuitable(performance, refusal.message)
  return inVain(performance, plan, refusal.message)
}

const noHost = (
  performance: Performance,
  plan: MovePlan,
  { why, refused }: { readonly why: string; readonly refused: ReadonlyMap<string, PlatformError> },
): Promise<PerformWait> => {
  const refusals = [...refused.values()]
  const [first] = refusals
  // Every host with room refused, for reasons that do not pass.
  if (first && refusals.every(({ code }) => code === 'platform-refused'))
    throw new DroverError({
      code: 'machine-not-movable' satisfies OperationReason,
      class: 'permanent',
      message: `${performance.machine.name} of ${performance.target.name}: ${first.message}`,
      remedy: operationReasons['machine-not-movable'].remedy,
    })
  return inVain(performance, plan, [why, ...refusals.map(({ message }) => message)].join(' ').trim())
}

const unsuitable = ({ machine, target }: Performance, why: string): DroverError =>
  new DroverError({
    code: 'host-unsuitable' satisfies OperationReason,
    class: 'permanent',
    message: `${machine.name} of ${target.name}: ${why.replace(/\.$/, '')}.`,
    remedy: operationReasons['host-unsuitable'].remedy,
    field: 'params.host',
  })

/** Holds no slots and queues for none. */
export const dropSlots = async (performance: Performance): Promise<void> => {
  await underMachineLock(performance, (tx) => setJobTokens(tx, performance.ctx.job.id, []))
}

/** The same for a move that has begun and meets other trouble, which counts against its deadline. */
export const leaveLine = async (performance: Performance): Promise<void> => {
  const { ctx, operation } = performance
  await underMachineLock(performance, async (tx) => {
    await setJobTokens(tx, ctx.job.id, [])
    await noteSlotWait(tx, operation.id, false)
  })
}

/** No host now: holds nothing meanwhile, shows why, and looks again after a pause that grows. */
const inVain = async (performance: Performance, plan: MovePlan, why: string): Promise<PerformWait> => {
  await storePlan(performance, { ...plan, to: null, spent: [], vain: plan.vain + 1 })
  await dropSlots(performance)
  return {
    type: 'wait',
    reason: 'no-host-fits',
    detail: `${operationReasons['no-host-fits'].title}: ${why}`,
    forMs: Math.min(longestMs, shortestMs * 2 ** Math.min(plan.vain, 10)),
  }
}
