import type { HostFacts } from '../../domain/inventory/facts.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'

/** Attributes by which a person asks for hosts: apart from the others of a group, or with them. */
export const hostHints = { spread: 'drover.spread', together: 'drover.keep-with' } as const

export interface HostHint {
  readonly grouping: keyof typeof hostHints
  readonly attribute: string
  readonly group: string
}

/** What an instance asks for; both together: apart from the one group goes first. */
export const hintOf = ({ attributes }: Pick<EffectiveFacts, 'attributes'>): HostHint | undefined => {
  for (const grouping of ['spread', 'together'] as const) {
    const attribute = hostHints[grouping]
    const group = Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined
    if (group) return { grouping, attribute, group }
  }
  return undefined
}

/**
 * The host that suits a hint best; undefined: none has room, and then the target chooses. `taken`: how many of the
 * group each host has, by its name. A preference, no promise: two of a group may meet where there are no more hosts.
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
