import { z } from 'zod'
import type { Client } from '../cli/kit/client.ts'
import { matching } from '../cli/kit/rows.ts'

const lookMs = 150

export type SiteRole = 'source' | 'target'

/** A site of the lab, as it is registered. */
export interface LabSite {
  readonly role: SiteRole
  /** `lab-vcenter`: nobody takes it for a real one. */
  readonly name: string
  readonly endpoint: string
  readonly username: string
}

const worldSchema = z.object({
  world: z.string(),
  sites: z.array(z.object({ name: z.string(), kind: z.enum(['source', 'target']), username: z.string() })),
})

export interface LabWorld {
  /** `small`, unless a person wanted another one. */
  readonly world: string
  readonly sites: readonly LabSite[]
}

/** Asks the lab which world it is, and which sites it has. */
export const readLabWorld = async (lab: Client, url: string): Promise<LabWorld> => {
  const { world, sites } = worldSchema.parse(await lab.get('/lab/world'))
  const found = sites.map(({ name, kind, username }) => ({
    role: kind,
    name: `lab-${name}`,
    endpoint: `${url}/sites/${name}`,
    username,
  }))
  return { world, sites: found.sort((a, b) => (a.role + a.name < b.role + b.name ? -1 : 1)) }
}

/** What `GET /v1/sources/{name}` says, as far as the start looks at it. */
export interface SiteSeen {
  readonly name: string
  readonly kind: string
  readonly endpoint: string
  readonly connectivity: {
    readonly state: string
    readonly message: string | null
    readonly remedy: string | null
    readonly checked_at: string | null
  }
  readonly identity: Readonly<Record<string, string>> | null
  readonly sync: { readonly synced_at: string | null }
  readonly counts: Readonly<Record<string, number>>
}

export interface Registered {
  readonly site: LabSite
  /** `foreign`: something else has the name, and is left alone. */
  readonly outcome: 'added' | 'moved' | 'known' | 'foreign'
  /** As it was before this start looked. */
  readonly before: SiteSeen | undefined
}

/** Lends a client that may add and change sites, as long as the work with it lasts. */
export type AsAdmin = <Result>(work: (admin: Client) => Promise<Result>) => Promise<Result>

export const sitePath = ({ role, name }: Pick<LabSite, 'role' | 'name'>): string =>
  `/v1/${role}s/${encodeURIComponent(name)}`

/** Registers what is not, or moves it to where the lab is now. As often as one likes: names stay. */
export const registerLabSites = async (options: {
  readonly client: Client
  readonly asAdmin: AsAdmin
  readonly sites: readonly LabSite[]
  readonly password: string
}): Promise<Registered[]> => {
  const { client, asAdmin, password, sites } = options
  const found = await Promise.all(
    sites.map(async (site) => judge(site, await client.find<SiteSeen>(sitePath(site)))),
  )
  if (found.every(({ outcome }) => outcome === 'known' || outcome === 'foreign')) return found
  await asAdmin(async (admin) => {
    for (const { site, outcome } of found) {
      const { role, name, endpoint, username } = site
      if (outcome === 'added')
        await admin.post(`/v1/${role}s`, { name, kind: 'lab', endpoint, username, password })
      if (outcome === 'moved') await moveSite(admin, site, password)
    }
  })
  return found
}

const judge = (site: LabSite, before: SiteSeen | undefined): Registered => {
  if (before === undefined) return { site, outcome: 'added', before }
  if (before.kind !== 'lab') return { site, outcome: 'foreign', before }
  return { site, outcome: before.endpoint === site.endpoint ? 'known' : 'moved', before }
}

/** Also what heals a password that was changed. */
const moveSite = async (admin: Client, site: LabSite, password: string): Promise<void> => {
  const { headers } = await admin.ask('GET', sitePath(site))
  const { endpoint, username } = site
  await admin.ask('PATCH', sitePath(site), {
    body: { endpoint, username, password },
    headers: matching(headers),
  })
}

/** How a site stands after its sync, or what keeps it from a sync. */
export interface Followed {
  readonly trouble?: { readonly message: string; readonly remedy: string }
}

interface JobSeen {
  readonly state: string
  readonly progress: { readonly done?: number } | null
  readonly error: { readonly message: string; readonly remedy: string } | null
}

/** Waits until a site is connected and was read since this start. Throws when told to stop. */
export const followSync = async (options: {
  readonly client: Client
  readonly asAdmin: AsAdmin
  readonly password: string
  readonly registered: Registered
  /** How far it is, in a few words. */
  readonly show: (text: string) => void
}): Promise<Followed> => {
  const { client, registered, show } = options
  const { site, outcome, before } = registered
  const path = sitePath(site)
  if (outcome === 'known') await client.post(`${path}/:check`)
  let renewed = false
  let job: string | undefined
  for (;;) {
    const { connectivity, sync } = await client.get<SiteSeen>(path)
    const { state, message, remedy } = connectivity
    const looked = outcome !== 'known' || connectivity.checked_at !== before?.connectivity.checked_at
    if (state === 'unknown' || !looked) show('connecting')
    else if (state === 'authentication-error' && !renewed) {
      renewed = true
      await options.asAdmin((admin) => moveSite(admin, site, options.password))
    } else if (state !== 'ok') return { trouble: { message: message ?? state, remedy: remedy ?? '' } }
    else if (sync.synced_at !== (before?.sync.synced_at ?? null)) return {}
    else {
      const mode = sync.synced_at === null ? 'full' : 'delta'
      job ??= (await client.post<{ id: string }>(`${path}/:sync`, { mode })).id
      const seen = await client.get<JobSeen>(`/v1/jobs/${job}`)
      if (seen.state === 'failed' && seen.error) return { trouble: seen.error }
      const done = seen.progress?.done ?? 0
      show(done > 0 ? `reading, ${done} things so far` : 'reading')
    }
    await client.sleep(lookMs)
  }
}
