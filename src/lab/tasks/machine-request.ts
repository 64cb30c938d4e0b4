import type { NicFacts, ProjectFacts } from '../../domain/inventory/facts.ts'
import type { NewMachineRequest, WireNic } from '../../platforms/lab/protocol.ts'
import type { Change } from '../model/context.ts'
import { invalid, refuse } from '../model/refusal.ts'
import { type Entity, findEntity, listEntities, projectUse } from '../store/entities.ts'
import { nameTaken } from '../store/machines.ts'
import type { MachineSpec } from './machine-spec.ts'

/** Where a machine goes whose maker named no folder. */
export const homeOf = async (
  change: Pick<Change, 'tx' | 'site'>,
  asked: { folder: string; host: string },
): Promise<{ folder: string; datacenter: string; cluster: string; host: string }> => {
  const hosts = await listEntities<{ datacenter: string; cluster: string }>(change.tx, change.site, 'host')
  const host = hosts.find(({ ref, name }) => ref === asked.host || name === asked.host)
  if (asked.host !== '' && !host)
    throw refuse('platform-absent', `There is no host "${asked.host.slice(0, 100)}".`)
  const like = host ?? hosts[0]
  const datacenter = like?.data.datacenter ?? change.site
  return {
    datacenter,
    cluster: like?.data.cluster ?? '',
    host: host?.ref ?? '',
    folder: asked.folder === '' ? `/${datacenter}/vm` : `/${asked.folder.replace(/^\/+|\/+$/g, '')}`,
  }
}

export const refuseTakenName = async (
  change: Pick<Change, 'tx'>,
  at: { site: string; folder: string; project: string; name: string; except: string },
): Promise<void> => {
  if (!(await nameTaken(change.tx, at))) return
  throw refuse(
    'platform-name-taken',
    `"${at.name.slice(0, 100)}" is taken in ${at.folder || 'that project'}.`,
    'Choose another name, or rename the other machine first.',
  )
}

/** What belongs to other projects is not there for a machine of this one; without a project nothing keeps it out. */
type Shared = Entity<{ readonly projects?: readonly string[] }>

const isFor = ({ data: { projects = [] } }: Shared, project: string): boolean =>
  project === '' || projects.length === 0 || projects.includes(project)

const refuseOthers = (thing: Shared, project: string): void => {
  if (isFor(thing, project)) return
  throw refuse(
    'platform-permission',
    `The ${thing.type} "${thing.name}" is not for project "${project}".`,
    'Use another one, or share it with the project.',
  )
}

/** Nics as they were asked for, on networks that exist, and are for the project (by ref). */
export const nicFacts = async (
  change: Pick<Change, 'tx' | 'site'>,
  nics: readonly WireNic[],
  project: string,
): Promise<NicFacts[]> =>
  await Promise.all(
    nics.map(async (nic, index) => {
      const network = await findEntity(change.tx, change.site, { type: 'network', ref: nic.network })
      if (!network) throw refuse('platform-absent', `There is no network "${nic.network.slice(0, 100)}".`)
      refuseOthers(network, project)
      return {
        key: String(4_000 + index),
        label: `Network adapter ${index + 1}`,
        mac: nic.mac.toLowerCase(),
        connected: nic.connected ?? true,
        network_ref: network.ref,
        network: network.name,
        type: nic.type,
        ipv4_addresses: [],
        ipv6_addresses: [],
      }
    }),
  )

const checkProject = async (
  change: Pick<Change, 'tx' | 'site'>,
  wanted: { project: string; cpus: number; memory: number; disk: number },
): Promise<string> => {
  if (wanted.project === '') return ''
  const project = await findEntity<ProjectFacts>(change.tx, change.site, {
    type: 'project',
    ref: wanted.project,
  })
  if (!project) throw refuse('platform-absent', `There is no project "${wanted.project.slice(0, 100)}".`)
  const used = (await projectUse(change.tx, change.site)).get(project.ref) ?? {}
  const { cpus, memory, disk } = wanted
  const more: Record<string, number> = { instances: 1, cpus, memory, disk }
  for (const [name, limit] of Object.entries(project.data.limits)) {
    if ((used[name] ?? 0) + (more[name] ?? 0) > limit)
      throw refuse(
        'platform-no-capacity',
        `Project "${project.name}" would go over its limit of ${limit} for ${name}.`,
        'Raise the limit, or make room in the project.',
      )
  }
  return project.ref
}

/** By ref or name; empty: the first that has room and is for the project, as a platform chooses by itself. */
const storageOf = async (change: Pick<Change, 'tx' | 'site'>, pool: string, project: string) => {
  const known = await listEntities<{ readonly projects?: readonly string[] }>(
    change.tx,
    change.site,
    'storage',
  )
  const storage =
    pool === ''
      ? known.find((one) => isFor(one, project) && !one.trouble.full)
      : (known.find(({ ref }) => ref === pool) ?? known.find(({ name }) => name === pool))
  if (storage) return storage
  const names = known.filter((one) => isFor(one, project)).map(({ name }) => name)
  throw refuse(
    'platform-absent',
    pool === '' ? 'No storage has room.' : `There is no storage "${pool.slice(0, 100)}".`,
    `Name a pool that is there: ${names.join(', ')}.`,
  )
}

const requestedDisks = async (
  change: Pick<Change, 'tx' | 'site'>,
  request: Pick<NewMachineRequest, 'disks'>,
  project: string,
) =>
  await Promise.all(
    request.disks.map(async ({ key, capacity, pool }) => {
      const storage = await storageOf(change, pool, project)
      refuseOthers(storage, project)
      if (storage.trouble.full) throw refuse('platform-no-capacity', `Storage "${storage.name}" is full.`)
      const profile = { data: [], random: 0, boot: null }
      return { key, capacity, storage: storage.ref, storageName: storage.name, thin: true, seed: 0, profile }
    }),
  )

export const specOf = async (
  change: Pick<Change, 'tx' | 'site'>,
  request: NewMachineRequest,
  ref: string,
): Promise<MachineSpec> => {
  const home = await homeOf(change, request)
  const disk = request.disks.reduce((sum, { capacity }) => sum + capacity, 0)
  const project = await checkProject(change, { ...request, disk })
  const disks = await requestedDisks(change, request, project)
  if (new Set(disks.map(({ key }) => key)).size < disks.length) throw invalid('Two disks have the same key.')
  await refuseTakenName(change, {
    site: change.site,
    folder: home.folder,
    project,
    name: request.name,
    except: ref,
  })
  return {
    ...home,
    ref,
    name: request.name,
    uuid: request.uuid.toLowerCase(),
    project,
    cpus: request.cpus,
    memory: request.memory,
    power: 'off',
    template: false,
    complete: true,
    nics: await nicFacts(change, request.nics, project),
    disks,
    devices: [],
    owner: request.owner,
    tracked: false,
    facts: { legacy_boot: request.legacy_boot, secure_boot: request.secure_boot },
  }
}
