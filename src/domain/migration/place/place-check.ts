import { whyNeverCopied } from '../../inventory/copy-way.ts'
import type { HostFacts, NetworkFacts, ProjectFacts, StorageFacts } from '../../inventory/facts.ts'
import type { EffectiveFacts } from '../../inventory/overrides.ts'
import { checkNics } from './place-networks.ts'
import { findForProject, isForProject, projectOf } from './place-projects.ts'
import type { Placement } from './placement.ts'

/** A target as it is now. */
export interface TargetView {
  readonly name: string
  readonly projects: readonly ProjectFacts[]
  readonly networks: readonly NetworkFacts[]
  readonly pools: readonly StorageFacts[]
  readonly hosts: readonly HostFacts[]
  /** Which machine in its project has the name. */
  readonly nameHeldBy: 'nobody' | 'us' | 'somebody'
}

export interface PlaceAsk {
  readonly placement: Placement
  readonly facts: Pick<EffectiveFacts, 'target_name' | 'cpus' | 'memory' | 'disks' | 'nics'>
  /** Undefined: no such target. */
  readonly target: TargetView | undefined
  /** The machine exists already: it must still exist, and has its room. */
  readonly late: boolean
}

export interface PlaceProblem {
  readonly code:
    | 'target-absent'
    | 'project-absent'
    | 'project-full'
    | 'name-taken'
    | 'machine-absent'
    | 'nic-without-place'
    | 'network-absent'
    | 'network-of-another-project'
    | 'network-inaccessible'
    | 'network-unsuited'
    | 'vlan-invalid'
    | 'vlan-unavailable'
    | 'address-outside-subnet'
    | 'disk-not-copyable'
    | 'disk-without-place'
    | 'pool-absent'
    | 'pool-of-another-project'
    | 'pool-inaccessible'
    | 'pool-full'
    | 'host-absent'
    | 'host-unavailable'
    | 'host-full'
  /** The part of the instance or the target that has the problem. */
  readonly what: string
  readonly message: string
}

/** Every problem of a placement on the live target; empty: it is possible. */
export const checkPlace = (ask: PlaceAsk): PlaceProblem[] => {
  const { placement, facts, target, late } = ask
  if (!target || target.name !== placement.target)
    return [
      {
        code: 'target-absent',
        what: placement.target,
        message: `There is no target "${placement.target}".`,
      },
    ]
  return [
    ...checkProject(ask, target),
    ...checkName(ask, target),
    ...checkNics(facts.nics, placement, target),
    ...(late ? [] : checkDisks(ask)),
    ...checkPools(ask, target),
    ...(late ? [] : checkHosts(ask, target)),
  ]
}

const checkProject = (
  { placement, facts, late }: PlaceAsk,
  { name, projects }: TargetView,
): PlaceProblem[] => {
  const project = projectOf({ projects }, placement.project)
  if (!project) {
    const message = `The target "${name}" has no project "${placement.project}".`
    return [{ code: 'project-absent', what: placement.project, message }]
  }
  if (late) return []
  const disk = facts.disks.reduce((sum, { capacity }) => sum + capacity, 0)
  const wanted: Record<string, number> = { instances: 1, cpus: facts.cpus, memory: facts.memory, disk }
  return Object.entries(project.limits).flatMap(([what, limit]): PlaceProblem[] => {
    const [used, more] = [project.used[what] ?? 0, wanted[what] ?? 0]
    return used + more <= limit
      ? []
      : [
          {
            code: 'project-full',
            what,
            message: `Project "${project.name}" has a limit of ${limit} for ${what}: ${used} are used and ${more} more are needed.`,
          },
        ]
  })
}

const checkName = ({ facts, late, placement }: PlaceAsk, { nameHeldBy }: TargetView): PlaceProblem[] => {
  const what = facts.target_name
  if (nameHeldBy === 'somebody')
    return [
      {
        code: 'name-taken',
        what,
        message: `Another machine is called "${what}" in project "${placement.project}".`,
      },
    ]
  return late && nameHeldBy === 'nobody'
    ? [{ code: 'machine-absent', what, message: `Our machine "${what}" is not there any more.` }]
    : []
}

/** The rules block these earlier; here they are checked for the last time before anything is made. */
const checkDisks = ({ facts }: PlaceAsk): PlaceProblem[] =>
  facts.disks.flatMap((disk): PlaceProblem[] => {
    const what = disk.label || disk.key
    const why = whyNeverCopied(disk)
    return why === undefined
      ? []
      : [{ code: 'disk-not-copyable', what, message: `${what} ${why}: no copy of it can be made.` }]
  })

const checkPools = ({ facts, placement, late }: PlaceAsk, target: TargetView): PlaceProblem[] => {
  const { name, pools } = target
  const placed = facts.disks.map((disk) => ({
    disk,
    label: disk.label || disk.key,
    pool: Object.hasOwn(placement.pools, disk.key) ? placement.pools[disk.key] : undefined,
  }))
  const without = placed
    .filter(({ pool }) => pool === undefined)
    .map(
      ({ label }): PlaceProblem => ({
        code: 'disk-without-place',
        what: label,
        message: `${label} has no pool.`,
      }),
    )
  const wanted = [...new Set(placed.flatMap(({ pool }) => pool ?? []))]
  return [
    ...without,
    ...wanted.flatMap((what): PlaceProblem[] => {
      const pool = findForProject(pools, what, projectOf(target, placement.project))
      if (!pool)
        return [{ code: 'pool-absent', what, message: `The target "${name}" has no storage pool "${what}".` }]
      if (!isForProject(pool, projectOf(target, placement.project))) {
        const message = `Storage pool "${what}" is not for project "${placement.project}", but for ${pool.projects?.join(', ')}.`
        return [{ code: 'pool-of-another-project', what, message }]
      }
      if (!pool.accessible)
        return [{ code: 'pool-inaccessible', what, message: `Storage pool "${what}" cannot be reached now.` }]
      const bytes = placed
        .filter((one) => one.pool === what)
        .reduce((sum, { disk }) => sum + (disk.used ?? disk.capacity), 0)
      return late || bytes <= pool.free
        ? []
        : [
            {
              code: 'pool-full',
              what,
              message: `Storage pool "${what}" has ${pool.free} bytes free and ${bytes} are needed.`,
            },
          ]
    }),
  ]
}

const checkHosts = ({ placement, facts }: PlaceAsk, target: TargetView): PlaceProblem[] => {
  const wanted = placement.host
  if (wanted === '') {
    const fitting = target.hosts.filter((host) => hostTroubles(host, facts, placement, target).length === 0)
    return target.hosts.length === 0 || fitting.length > 0
      ? []
      : [
          {
            code: 'host-full',
            what: target.name,
            message: `No host of "${target.name}" is up, reaches the pools and has room for ${facts.cpus} CPUs and ${facts.memory} bytes of memory.`,
          },
        ]
  }
  const host = target.hosts.find((one) => one.name === wanted || one.ref === wanted)
  return host
    ? hostTroubles(host, facts, placement, target)
    : [{ code: 'host-absent', what: wanted, message: `The target "${target.name}" has no host "${wanted}".` }]
}

const hostTroubles = (
  host: HostFacts,
  { cpus, memory }: Pick<EffectiveFacts, 'cpus' | 'memory'>,
  placement: Placement,
  { pools }: TargetView,
): PlaceProblem[] => {
  const what = host.name
  if (host.state !== 'connected')
    return [{ code: 'host-unavailable', what, message: `Host "${what}" is ${host.state}.` }]
  const used = new Set(Object.values(placement.pools))
  const apart = pools.filter(
    (pool) =>
      (used.has(pool.name) || used.has(pool.ref)) && pool.hosts.length > 0 && !pool.hosts.includes(host.ref),
  )
  const free = host.memory - host.memory_used
  return [
    ...apart.map(
      (pool): PlaceProblem => ({
        code: 'host-unavailable',
        what,
        message: `Host "${what}" does not reach the storage pool "${pool.name}".`,
      }),
    ),
    ...(cpus > host.cpus
      ? [
          {
            code: 'host-full' as const,
            what,
            message: `Host "${what}" has ${host.cpus} CPUs; ${cpus} are needed.`,
          },
        ]
      : []),
    ...(memory > free
      ? [
          {
            code: 'host-full' as const,
            what,
            message: `Host "${what}" has ${free} bytes of memory free; ${memory} are needed.`,
          },
        ]
      : []),
  ]
}
