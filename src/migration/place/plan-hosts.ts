import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { Placement } from '../../domain/migration/place/placement.ts'
import { type HostHint, hintOf } from './choose-host.ts'

/** Hosts that a plan has given to members of groups, in addition to the hosts of existing entries. */
export class SupposedHosts {
  readonly #given = new Map<string, Map<string, number>>()

  /** Counts a member of a group on its new host; `before`: the host where its entry is counted so far. */
  move(
    facts: Pick<EffectiveFacts, 'attributes'>,
    step: { readonly before: Placement | null; readonly now: Placement },
  ): void {
    const hint = hintOf(facts)
    if (!hint) return
    if (step.before) this.#count(step.before, hint, -1)
    this.#count(step.now, hint, 1)
  }

  /** How many members of a group each host has, including those of the plan. */
  over(target: string, hint: HostHint, taken: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
    const all = new Map(taken)
    for (const [host, more] of this.#given.get(keyOf(target, hint)) ?? [])
      all.set(host, (all.get(host) ?? 0) + more)
    return all
  }

  #count({ target, host }: Placement, hint: HostHint, by: number): void {
    if (host === '') return
    const key = keyOf(target, hint)
    const hosts = this.#given.get(key) ?? new Map<string, number>()
    hosts.set(host, (hosts.get(host) ?? 0) + by)
    this.#given.set(key, hosts)
  }
}

const keyOf = (target: string, { attribute, group }: HostHint): string =>
  JSON.stringify([target, attribute, group])
