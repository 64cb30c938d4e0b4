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

/** What a target has, as it was at most `freshMs` ago. */
export interface TargetThings {
  readonly networks: readonly NetworkFacts[]
  readonly pools: readonly StorageFacts[]
  readonly hosts: readonly HostFacts[]
  readonly projects: readonly ProjectFacts[]
  /** Some machine of this name that is none of these, in a project (by ref) or in any; undefined: none is known. */
  namesake(asked: Namesake): Promise<string | undefined>
}

interface Namesake {
  readonly name: string
  readonly but: readonly string[]
  readonly project: string | null
}

/** The target as somebody finds it who is to have that name in that project; `mine`: what it has there already. */
export const viewTarget = async (
  site: Pick<SiteRow, 'name'>,
  { networks, pools, hosts, projects, namesake }: TargetThings,
  asked: {
    readonly name: string
    readonly project: string
    readonly mine: readonly string[]
    /** Ours was made long ago: that another is called so as well is no obstacle any more. */
    readonly late?: boolean
  },
): Promise<TargetView> => {
  const { name, mine, late = false } = asked
  // Names are a project's own; where there is only one, all machines are in it.
  const own = projects.find((one) => one.name === asked.project || one.ref === asked.project)
  const project = projects.length > 1 ? (own?.ref ?? asked.project) : null
  const other = late ? undefined : await namesake({ name, but: mine, project })
  const nameHeldBy = other !== undefined ? 'somebody' : mine.length > 0 ? 'us' : 'nobody'
  return { name: site.name, networks, pools, hosts, projects, nameHeldBy }
}

/** Room that others take meanwhile is found out by the creation itself. */
const freshMs = 30_000
const scanMs = 300_000
/** However many ask, a target is not looked at anew more often than that. */
const justNowMs = 2_000

type Looking = Pick<JobContext, 'db' | 'clock' | 'usePlatform' | 'signal'>

interface Kept {
  readonly untilMs: number
  readonly things: Promise<TargetThings>
}

/**
 * Looks at targets as they are: at the records of a sync that has just been, else at the platform itself. One look
 * serves all who ask in the next half minute.
 */
export class TargetLooks {
  readonly #kept = new Map<string, Kept>()

  async look({ db, clock, usePlatform, signal }: Looking, site: SiteRow): Promise<TargetThings> {
    if (site.syncedAt !== null && clock.now() - site.syncedAt.getTime() < freshMs) return recorded(db, site)
    const known = this.#kept.get(site.id)
    if (known && known.untilMs > clock.monotonicMs()) return orAborted(known.things, signal)
    // Shared, with the lender of the process: it does not end with the one who asked first.
    const things = this.#scan(site, usePlatform)
    this.#kept.set(site.id, { untilMs: clock.monotonicMs() + freshMs, things })
    things.catch(() => this.forget(site))
    return orAborted(things, signal)
  }

  /** What was seen is not true any more: the next one looks anew. */
  forget(site: Pick<SiteRow, 'id'>): void {
    this.#kept.delete(site.id)
  }

  /** The same, unless it was seen just now. */
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

/** What is shared goes on; who is stopped does not wait for it. */
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
