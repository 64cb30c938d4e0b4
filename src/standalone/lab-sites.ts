import { z } from 'zod'
import { askLab, type LabDoor } from './ask-lab.ts'
import { ApiRefused, type Ask } from './local-api.ts'

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
export const readLabWorld = async (lab: LabDoor): Promise<LabWorld> => {
  const { world, sites } = worldSchema.parse(JSON.parse(await askLab(lab, 'GET /lab/world')))
  const found = sites.map(({ name, kind, username }) => ({
    role: kind,
    name: `lab-${name}`,
    endpoint: `${lab.url}/sites/${name}`,
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

const pathOf = ({ role, name }: Pick<LabSite, 'role' | 'name'>) => `/v1/${role}s/${name}` as const

export const askSite = async (ask: Ask, site: Pick<LabSite, 'role' | 'name'>) =>
  await ask<SiteSeen>(`GET ${pathOf(site)}`)

/** A site that is not there is undefined; any other failure is one. */
const findSite = async (ask: Ask, site: LabSite): Promise<SiteSeen | undefined> => {
  try {
    return (await askSite(ask, site)).body
  } catch (error) {
    if (error instanceof ApiRefused && error.status === 404) return undefined
    throw error
  }
}

/** Registers what is not, or moves it to where the lab is now. As often as one likes: names stay. */
export const registerLabSites = async (options: {
  readonly ask: Ask
  /** Gives somebody who may add sites; asked only where one must be. */
  readonly asAdmin: <Result>(work: (ask: Ask) => Promise<Result>) => Promise<Result>
  readonly sites: readonly LabSite[]
  readonly password: string
}): Promise<Registered[]> => {
  const { ask, asAdmin, password } = options
  const found = await Promise.all(options.sites.map(async (site) => judge(site, await findSite(ask, site))))
  if (found.every(({ outcome }) => outcome === 'known' || outcome === 'foreign')) return found
  await asAdmin(async (admin) => {
    for (const { site, outcome } of found) {
      if (outcome === 'added') await addSite(admin, site, password)
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

const addSite = async (ask: Ask, site: LabSite, password: string): Promise<void> => {
  const { role, name, endpoint, username } = site
  await ask(`POST /v1/${role}s`, { name, kind: 'lab', endpoint, username, password })
}

/** Also what heals a password that was changed. */
export const moveSite = async (ask: Ask, site: LabSite, password: string): Promise<void> => {
  const { etag } = await askSite(ask, site)
  const { endpoint, username } = site
  await ask(`PATCH ${pathOf(site)}`, { endpoint, username, password }, { 'if-match': etag })
}

export const checkSite = async (ask: Ask, site: LabSite): Promise<void> => {
  await ask(`POST ${pathOf(site)}/:check`)
}

/** Gives the id of the job that syncs. */
export const syncSite = async (ask: Ask, site: LabSite, mode: 'full' | 'delta'): Promise<string> =>
  (await ask<{ id: string }>(`POST ${pathOf(site)}/:sync`, { mode })).body.id
