import type { Queryable } from '../../../db/client.ts'
import { findNamesake } from '../../../db/queries/entries/placing-entries.ts'
import { listSiteThings, type ThingTable } from '../../../db/queries/sites/list-site-things.ts'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import type { Clock } from '../../clock.ts'
import type {
  HostFacts,
  InstanceFacts,
  NetworkFacts,
  ProjectFacts,
  StorageFacts,
} from '../../domain/inventory/facts.ts'
import { readSettings } from '../../domain/inventory/site-settings.ts'
import type { TargetView } from '../../domain/migration/place/place-check.ts'
import type { JobContext, UsePlatform } from '../../ledger/job.ts'
import { portOf } from '../../platforms/ports/ports.ts'

/** What a target has, at most `freshMs` old. */
export interface TargetThings {
  readonly networks: readonly NetworkFacts[]
  readonly pools: readonly StorageFacts[]
  readonly hosts: readonly HostFacts[]
  readonly projects: readonly ProjectFacts[]
  /**
   * A machine with this name outside the given list, in a project (by ref) or in any project; undefined: none is
   * known.
   */
  namesake(asked: Namesake): Promise<string | undefined>
}

interface Namesake {
  readonly name: string
  readonly but: readonly string[]
  readonly project: string | null
}

/**
 * The target as seen by a machine of that name in that project; `mine`: the machine that the entry already has there.
 */
export const viewTarget = async (
  site: Pick<SiteRow, 'name'>,
  { networks, pools, hosts, projects, namesake }: TargetThings,
  asked: {
    readonly name: string
    readonly project: string
    readonly mine: readonly string[]
    /** Our machine was made long ago: another machine with the same name is no obstacle any more. */
    readonly late?: boolean
  },
): Promise<TargetView> => {
  const { name, mine, late = false } = asked
  // Names are unique within a project. With a single project, all machines are in it.
  const own = projects.find((one) => one.name === asked.project || one.ref === asked.project)
  const project = projects.length > 1 ? (own?.ref ?? asked.project) : null
  const other = late ? undefined : await namesake({ name, but: mine, project })
  const nameHeldBy = other !== undefined ? 'somebody' : mine.length > 0 ? 'us' : 'nobody'
  return { name: site.name, networks, pools, hosts, projects, nameHeldBy }
}

/** If others take the room meanwhile, the creation finds out. */
const freshMs = 30_000
const scanMs = 300_000
/** The least time between two looks at a target, however many entries ask. */
const justNowMs = 2_000

type Looking = Pick<JobContext, 'db' | 'clock' | 'usePlatform' | 'signal'>

interface Kept {
  readonly untilMs: number
  readonly things: Promise<TargetThings>
}

/**
 * Looks at targets: reads the records of a very recent sync, or asks the platform. One look serves all entries that
 * ask within the next half minute.
 */
export class TargetLooks {
  readonly #kept = new Map<string, Kept>()

  async look({ db, clock, usePlatform, signal }: Looking, site: SiteRow): Promise<TargetThings> {
    if (site.syncedAt !== null && clock.now() - site.syncedAt.getTime() < freshMs) return recorded(db, site)
    const known = this.#kept.get(site.id)
    if (known && known.untilMs > clock.monotonicMs()) return orAborted(known.things, signal)
    // Shared, and run with the lender of the process: it does not end with the entry that asked first.
    const things = this.#scan(site, usePlatform)
    this.#kept.set(site.id, { untilMs: clock.monotonicMs() + freshMs, things })
    things.catch(() => this.forget(site))
    return orAborted(things, signal)
  }

  /** Drops the last look, so that the next call looks again. */
  forget(site: Pick<SiteRow, 'id'>): void {
    this.#kept.delete(site.id)
  }

  /** Drops the last look unless it was made just now. */
  forgetOld(site: Pick<SiteRow, 'id'>, clock: Clock): void {
    const known = this.#kept.get(site.id)
    if (known && known.untilMs - clock.monotonicMs() < freshMs - justNowMs) this.forget(site)
  }

  #scan(site: SiteRow, usePlatform: UsePlatform): Promise<TargetThings> {
    const settings = readSettings('target', site.settings)
    return usePlatform(site, async (platform) => {
      const [networks, pools, hosts, projects] = [
        [] as NetworkFacts[],
        [] as StorageFacts[],
        [] as HostFacts[],
        [] as ProjectFacts[],
      ]
      const names = new Map<string, { readonly ref: string; readonly project: string }[]>()
      const note = ({ name, ref, resource_pool: project }: InstanceFacts) =>
        names.set(name, [...(names.get(name) ?? []), { ref, project }])
      const call = { signal: AbortSignal.timeout(scanMs), timeoutMs: scanMs, name: `place-${site.id}` }
      const itemTimeoutMs = settings.sync_timeout_seconds * 1_000
      const options = { scopes: settings.scopes, concurrency: 8, itemTimeoutMs }
      for await (const items of portOf(platform, 'inventory').scan(call, options))
        for (const item of items) {
          if (item.type === 'network') networks.push(item.facts)
          else if (item.type === 'storage') pools.push(item.facts)
          else if (item.type === 'host') hosts.push(item.facts)
          else if (item.type === 'project') projects.push(item.facts)
          else if (item.type === 'instance') note(item.facts)
        }
      const namesake = async ({ name, but, project }: Namesake) =>
        names
          .get(name)
          ?.find((one) => !but.includes(one.ref) && (project === null || one.project === project))?.ref
      return { networks, pools, hosts, projects, namesake }
    })
  }
}

/** The shared look goes on; a caller that is stopped does not wait for it. */
const orAborted = async <Value>(shared: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  let onAbort = () => {}
  const stopped = new Promise<void>((resolve) => {
    onAbort = resolve
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    await Promise.race([shared, stopped])
    signal.throwIfAborted()
    return await shared
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

const recorded = async (db: Queryable, site: SiteRow): Promise<TargetThings> => {
  const all = async <Table extends ThingTable>(table: Table) => {
    const page = { after: undefined, limit: 10_000 }
    const lines = await listSiteThings(db, table, { role: 'target', site: site.name, gone: false }, page)
    return lines.map(({ facts }) => facts)
  }
  return {
    networks: await all('network'),
    pools: await all('storage'),
    hosts: await all('host'),
    projects: await all('project'),
    namesake: (asked) => findNamesake(db, { targetId: site.id, ...asked }),
  }
}
