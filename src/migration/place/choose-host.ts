import type { HostFacts } from '../../domain/inventory/facts.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'

/** Attributes by which a person asks for hosts: apart from the other members of a group, or together with them. */
export const hostHints = { spread: 'drover.spread', together: 'drover.keep-with' } as const

export interface HostHint {
  readonly grouping: keyof typeof hostHints
  readonly attribute: string
  readonly group: string
}

/** The hint of an instance. If both attributes are set, `spread` wins. */
export const hintOf = ({ attributes }: Pick<EffectiveFacts, 'attributes'>): HostHint | undefined => {
  for (const grouping of ['spread', 'together'] as const) {
    const attribute = hostHints[grouping]
    const group = Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined
    if (group) return { grouping, attribute, group }
  }
  return undefined
}

/**
 * The host that suits a hint best. Undefined: no host has room, and the target chooses. `taken`: how many members of
 * the group each host has, by host name. A preference, not a promise: when hosts run out, two members share a host.
 */
export const chooseHost = (
  hint: HostHint,
  hosts: readonly HostFacts[],
  taken: ReadonlyMap<string, number>,
  needs: Pick<EffectiveFacts, 'cpus' | 'memory'>,
): { readonly name: string; readonly because: string } | undefined => {
  const sign = hint.grouping === 'spread' ? 1 : -1
  const free = (host: HostFacts) => host.memory - host.memory_used
  const [best] = hosts
    .filter((host) => host.state === 'connected' && host.cpus >= needs.cpus && free(host) >= needs.memory)
    .sort(
      (a, b) =>
        sign * ((taken.get(a.name) ?? 0) - (taken.get(b.name) ?? 0)) ||
        free(b) - free(a) ||
        (a.name < b.name ? -1 : 1),
    )
  return best && { name: best.name, because: `its attribute ${hint.attribute}=${hint.group}` }
}
