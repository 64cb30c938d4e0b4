/** A host as a candidate for a machine. */
export interface HostSeen {
  readonly ref: string
  readonly name: string
  readonly cluster: string
  readonly state: 'connected' | 'disconnected' | 'not-responding' | 'maintenance'
  /** Hosts of one class can exchange running machines; empty: not known. */
  readonly cpuClass: string
  /** Free bytes, without the machines on their way there. */
  readonly freeMemory: number
  /** Further moves that the host can take at once; 0 or less: the next one queues. */
  readonly slots: number
}

export interface MoveNeeds {
  /** The host of the machine; undefined: unknown. */
  readonly from: HostSeen | undefined
  readonly memory: number
}

export interface Unsuited {
  readonly why: string
  /** Permanent, whatever becomes free. */
  readonly lasts: boolean
}

/** Whether a text is the host's ref or name. */
export const isHost = (host: Pick<HostSeen, 'ref' | 'name'>, text: string): boolean =>
  text !== '' && (host.ref === text || host.name === text)

/** Why a machine cannot go to a named host. The platform itself tells whether there is room. */
export const whyUnsuited = (host: HostSeen, { from }: MoveNeeds): Unsuited | undefined => {
  if (host.ref === from?.ref) return { why: 'is where the machine runs', lasts: true }
  if (from && host.cpuClass !== '' && from.cpuClass !== '' && host.cpuClass !== from.cpuClass)
    return { why: `has CPUs of class ${host.cpuClass}, not ${from.cpuClass}`, lasts: true }
  if (host.state !== 'connected') return { why: `is ${host.state}`, lasts: false }
  return undefined
}

/**
 * Hosts that a machine may move to, the best first: in its own cluster and with room; hosts with a free slot before
 * hosts with a queue, then by free memory.
 */
export const hostsToTry = (hosts: readonly HostSeen[], needs: MoveNeeds): HostSeen[] =>
  hosts
    .filter((host) => whyUnsuited(host, needs) === undefined && host.freeMemory >= needs.memory)
    .filter((host) => !needs.from || needs.from.cluster === '' || host.cluster === needs.from.cluster)
    .sort(
      (a, b) =>
        Number(b.slots > 0) - Number(a.slots > 0) ||
        b.freeMemory - a.freeMemory ||
        (a.name < b.name ? -1 : 1),
    )

/** One sentence on why no host is suitable. */
export const whyNone = (hosts: readonly HostSeen[], needs: MoveNeeds): string => {
  const others = hosts.filter(({ ref }) => ref !== needs.from?.ref)
  if (others.length === 0) return 'The target has no other host.'
  const said = others.slice(0, 5).map((host) => {
    const unsuited = whyUnsuited(host, needs)
    if (unsuited) return `${host.name} ${unsuited.why}`
    if (needs.from && needs.from.cluster !== '' && host.cluster !== needs.from.cluster)
      return `${host.name} is in another cluster`
    return host.freeMemory < needs.memory
      ? `${host.name} has ${mib(host.freeMemory)} MiB of memory left, and ${mib(needs.memory)} MiB are needed`
      : `${host.name} was refused by the target`
  })
  const more = others.length - said.length
  return `${said.join('; ')}${more > 0 ? `; and ${more} more` : ''}.`
}

const mib = (bytes: number): number => Math.max(0, Math.floor(bytes / 1024 ** 2))
