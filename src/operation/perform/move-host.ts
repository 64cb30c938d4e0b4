import { listMovesUnderWay } from '../../../db/queries/list-moves-under-way.ts'
import { listSiteThings } from '../../../db/queries/list-site-things.ts'
import { noteOperation } from '../../../db/queries/operation-rows.ts'
import { setJobTokens } from '../../../db/queries/set-job-tokens.ts'
import { thingOf } from '../../domain/job/token.ts'
import { readParams } from '../../domain/operation/params.ts'
import {
  type HostSeen,
  hostsToTry,
  isHost,
  type MoveNeeds,
  whyNone,
  whyUnsuited,
} from '../../domain/operation/pick-move-host.ts'
import { type OperationReason, operationReasons } from '../../domain/operation/reasons.ts'
import { DroverError } from '../../errors.ts'
import { isAbsent, PlatformError } from '../../platforms/platform-error.ts'
import { portOf } from '../../platforms/ports.ts'
import type { Performance, PerformWait } from '../performer.ts'
import { callOf } from './look-at-machine.ts'
import { type HostName, type MovePlan, storePlan } from './move-plan.ts'

const hostsMost = 10_000
/** Of the hosts that should do, so many are asked about in one turn. */
const checksMost = 5
const shortestMs = 5_000
const longestMs = 60_000

/** The host that a person has named; null: one is to be found. */
export const namedHost = ({ operation }: Performance): string | null =>
  operation.kind === 'migrate' ? (readParams('migrate', operation.params).host ?? null) : null

/** The hosts of the target as they were seen last, with what is on its way to them. */
export const seeHosts = async ({ turn, operation, target }: Performance): Promise<HostSeen[]> => {
  const filter = { role: 'target', site: target.name, gone: false } as const
  const lines = await listSiteThings(turn.db, 'host', filter, { after: undefined, limit: hostsMost })
  const moves = await listMovesUnderWay(turn.db, { targetId: target.id, but: operation.id })
  return lines.map(({ facts }) => {
    const token = inboundToken(target.name, facts.name)
    const inbound = moves.filter(({ tokens }) => tokens.includes(token))
    const coming = inbound.reduce((sum, { memory }) => sum + memory, 0)
    return {
      ...{ ref: facts.ref, name: facts.name, cluster: facts.cluster, state: facts.state },
      cpuClass: facts.cpu_class,
      freeMemory: facts.memory - facts.memory_used - coming,
      inbound: inbound.length,
    }
  })
}

const inboundToken = (target: string, host: string): string => `host-inbound-moves/${thingOf(target, host)}`

/** What a move holds for as long as it goes on. */
export const moveTokens = (target: string, from: HostName, to: HostName): string[] => [
  inboundToken(target, to.name),
  `host-outbound-moves/${thingOf(target, from.name)}`,
  `host-move-syncs/${thingOf(target, from.name)}`,
  `target-moves/${thingOf(target)}`,
]

/** A host that the platform would take the machine to now; or why there is none, as a wait. */
export const findHost = async (
  performance: Performance,
  plan: MovePlan,
): Promise<{ readonly type: 'host'; readonly host: HostName } | PerformWait> => {
  const hosts = await seeHosts(performance)
  const from = hosts.find((host) => isHost(host, plan.from.ref) || isHost(host, plan.from.name))
  const needs: MoveNeeds = { from, memory: performance.machine.memory }
  const named = namedHost(performance)
  if (named !== null) return provenHost(performance, plan, { hosts, needs, named })
  const { refused, tried, host } = await firstTaken(performance, plan, hostsToTry(hosts, needs))
  if (host) return { type: 'host', host }
  const [refusal] = refused
  // All that had room were refused, and not for want of anything that may come free.
  if (refusal && refused.length === tried && refused.every(({ code }) => code === 'platform-refused'))
    throw new DroverError({
      code: 'machine-not-movable' satisfies OperationReason,
      class: 'permanent',
      message: `${performance.machine.name} of ${performance.target.name}: ${refusal.message}`,
      remedy: operationReasons['machine-not-movable'].remedy,
    })
  const why = [whyNone(hosts, needs), ...refused.map(({ message }) => message)].join(' ')
  return inVain(performance, plan, why)
}

const firstTaken = async (performance: Performance, plan: MovePlan, candidates: readonly HostSeen[]) => {
  const kept = plan.to
  const fresh = candidates.filter(({ ref }) => !plan.spent.includes(ref))
  // Where it was to go before comes first: its slots are of that host.
  const order = (fresh.length > 0 ? fresh : candidates).toSorted(
    (a, b) => Number(b.ref === kept?.ref) - Number(a.ref === kept?.ref),
  )
  const refused: PlatformError[] = []
  const asked = order.slice(0, checksMost)
  for (const { ref, name } of asked) {
    const refusal = await refusalOf(performance, ref)
    if (!refusal) return { host: { ref, name }, refused, tried: asked.length }
    refused.push(refusal)
  }
  return { host: undefined, refused, tried: asked.length }
}

/** Why the platform would not move it there now; what says nothing of the host is thrown. */
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

const provenHost = async (
  performance: Performance,
  plan: MovePlan,
  asked: { readonly hosts: readonly HostSeen[]; readonly needs: MoveNeeds; readonly named: string },
): ReturnType<typeof findHost> => {
  const { hosts, needs, named } = asked
  const host = hosts.find((one) => isHost(one, named))
  if (!host) throw unsuitable(performance, `${performance.target.name} has no host ${named}`)
  const unsuited = whyUnsuited(host, needs)
  if (unsuited?.lasts) throw unsuitable(performance, `${host.name} ${unsuited.why}`)
  if (unsuited) return inVain(performance, plan, `${host.name} ${unsuited.why}.`)
  const refusal = await refusalOf(performance, host.ref)
  if (!refusal) return { type: 'host', host: { ref: host.ref, name: host.name } }
  if (refusal.code === 'platform-refused' || isAbsent(refusal)) throw unsuitable(performance, refusal.message)
  return inVain(performance, plan, refusal.message)
}

const unsuitable = ({ machine, target }: Performance, why: string): DroverError =>
  new DroverError({
    code: 'host-unsuitable' satisfies OperationReason,
    class: 'permanent',
    message: `${machine.name} of ${target.name}: ${why.replace(/\.$/, '')}.`,
    remedy: operationReasons['host-unsuitable'].remedy,
    field: 'params.host',
  })

/** None now: it holds nothing meanwhile, says why, and looks again, ever later. */
const inVain = async (performance: Performance, plan: MovePlan, why: string): Promise<PerformWait> => {
  const { turn } = performance
  const { title } = operationReasons['no-host-fits']
  const wait = { reason: 'no-host-fits', detail: `${title}: ${why}` } as const
  await storePlan(performance, { ...plan, to: null, spent: [], vain: plan.vain + 1 })
  await turn.transaction((tx) => setJobTokens(tx, turn.job.id, []))
  return { type: 'wait', ...wait, forMs: Math.min(longestMs, shortestMs * 2 ** Math.min(plan.vain, 10)) }
}

/** Stands in line for the slots of a host, as long as it does not hold them. */
export const takeSlots = async (
  performance: Performance,
  plan: MovePlan,
  to: HostName,
): Promise<{ readonly type: 'ready'; readonly plan: MovePlan } | PerformWait> => {
  const { turn, operation, target } = performance
  const next = { ...plan, to, vain: 0 }
  if (plan.to?.ref !== to.ref || plan.vain > 0) await storePlan(performance, next)
  const tokens = moveTokens(target.name, plan.from, to)
  const detail = `${operationReasons['awaiting-slot'].title}: ${tokens.join(', ')}.`
  const waits = await turn.transaction(async (tx) => {
    const asks = await setJobTokens(tx, turn.job.id, tokens)
    if (asks) await noteOperation(tx, operation.id, { reason: 'awaiting-slot', message: detail, progress: 2 })
    return asks
  })
  return waits ? { type: 'wait', reason: 'awaiting-slot', detail, forMs: 1 } : { type: 'ready', plan: next }
}
