/** A host as it is weighed for a machine that is to move there. */
export interface HostSeen {
  readonly ref: string
  readonly name: string
  readonly cluster: string
  readonly state: 'connected' | 'disconnected' | 'not-responding' | 'maintenance'
  /** Hosts of one class can exchange running machines; empty: not known. */
  readonly cpuClass: string
  /** Bytes that are left, without those of machines on their way there. */
  readonly freeMemory: number
  /** Moves that it can take at once beside those on their way to it; 0 or less: the next one stands in line. */
  readonly slots: number
}

export interface MoveNeeds {
  /** Where the machine runs; undefined: a host that nobody knows. */
  readonly from: HostSeen | undefined
  readonly memory: number
}

export interface Unsuited {
  readonly why: string
  /** It stays so, whatever comes free. */
  readonly lasts: boolean
}

/** Whether text is that host's id or its name. */
export const isHost = (host: Pick<HostSeen, 'ref' | 'name'>, text: string): boolean =>
  text !== '' && (host.ref === text || host.name === text)

/** Why a machine cannot go to a host that was named. Whether there is room the platform tells itself. */
export const whyUnsuited = (host: HostSeen, { from }: MoveNeeds): Unsuited | undefined => {
  if (host.ref === from?.ref) return { why: 'is where the machine runs', lasts: true }
  if (from && host.cpuClass !== '' && from.cpuClass !== '' && host.cpuClass !== from.cpuClass)
    return { why: `has CPUs of class ${host.cpuClass}, not ${from.cpuClass}`, lasts: true }
  if (host.state !== 'connected') return { why: `is ${host.state}`, lasts: false }
  return undefined
}

/**
 * Hosts that a machine may go to, the best first: in its own cluster, with room, those it can go to at once before
 * those where it would stand in line, and of these the most free.
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

/** One sentence on why none of them will do. */
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
