import { createHash } from 'node:crypto'
import type { Lab } from '../model/context.ts'
import type { FaultRule } from '../model/fault-rule.ts'
import { countSeen, countStruck, type StoredFault } from '../store/faults.ts'

/** A call, as far as faults look at it. */
export interface FaultTarget {
  readonly call: string
  readonly site: string
  readonly machine: string
  readonly caller: string
}

/** A fault that strikes a call. */
export type StruckFault = FaultRule & { readonly id: number }

const fits = (rule: FaultRule, target: FaultTarget): boolean => {
  const calls = rule.call === undefined ? undefined : [rule.call].flat()
  return (
    (calls === undefined || calls.includes(target.call)) &&
    (rule.site === undefined || rule.site === target.site) &&
    (rule.machine === undefined || rule.machine === target.machine) &&
    (rule.caller === undefined || rule.caller === target.caller)
  )
}

/** A number from 0 up to 1 that follows from the seed and the count alone. */
const dice = (seed: number, nth: number): number =>
  createHash('sha256').update(`${seed}:${nth}`).digest().readUInt32BE(0) / 2 ** 32

/** The faults that strike this call, oldest first. Each call that fits is counted, struck or not. */
export const strike = async (
  lab: Lab,
  faults: readonly StoredFault[],
  target: FaultTarget,
): Promise<StruckFault[]> => {
  const struck: StruckFault[] = []
  for (const { id, rule } of faults) {
    if (!fits(rule, target)) continue
    const count = await countSeen(lab.db, id)
    if (!count || count.nth <= rule.skip) continue
    if (rule.probability < 1 && dice(rule.seed, count.nth) >= rule.probability) continue
    if (await countStruck(lab.db, id, rule.times)) struck.push({ ...rule, id })
  }
  return struck
}

/** The first of a kind. */
export const ofKind = <Kind extends FaultRule['kind']>(
  faults: readonly FaultRule[],
  kind: Kind,
): Extract<FaultRule, { kind: Kind }> | undefined =>
  faults.find((rule): rule is Extract<FaultRule, { kind: Kind }> => rule.kind === kind)

/** Faults on looking at one machine: a listing shows them as a marker, because the others come all the same. */
export const machineFaults = (faults: readonly StoredFault[], site: string): StoredFault[] =>
  faults.filter(
    ({ rule }) =>
      (rule.kind === 'error' || rule.kind === 'stall') &&
      rule.machine !== undefined &&
      fits(rule, { call: 'instance', site, machine: rule.machine, caller: rule.caller ?? '' }),
  )
