import type { Client } from '../cli/kit/client.ts'
import type { Terminal } from '../print/terminal.ts'
import { withBriefAdmin } from '../standalone/brief-admin.ts'
import type { LabHome } from '../standalone/lab-home.ts'
import type { LabStart } from '../supervisor/fleet-of-roles.ts'
import type { ClientFor } from './fleet-clients.ts'
import { type AssessmentSeen, type HostSeen, inventoryLines } from './inventory-lines.ts'
import { showTemplate } from './show-template.ts'
import { showWave } from './show-wave.ts'
import {
  type AsAdmin,
  followSync,
  type Registered,
  readLabWorld,
  registerLabSites,
  type SiteRole,
  type SiteSeen,
  sitePath,
} from './sites.ts'

const sitesShown = 10

export interface TourOptions {
  readonly home: LabHome
  /** Resolves when the lab answers, or with why it will not. */
  readonly lab: Promise<LabStart>
  /** Where the console is. */
  readonly address: string
  readonly clientFor: ClientFor
  /** An operator's. */
  readonly token: string
  readonly databaseUrl: string
  readonly workers: number
  /** The folder that workers import archives from; undefined: a person has set another one. */
  readonly imageDir: string | undefined
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

/**
 * Registers the lab, reads it, and shows what there is. Never throws: a fleet that serves is worth more than a
 * lab that does not.
 */
export const showLab = async (options: TourOptions): Promise<void> => {
  const { terminal, signal } = options
  try {
    await show(options)
  } catch (error) {
    terminal.live('')
    if (signal.aborted) return
    terminal.line(`The lab cannot be used: ${(error as Error).message}`)
    terminal.line('Everything else serves on. DROVER_LAB=0 starts without the lab.')
  }
}

const show = async (options: TourOptions): Promise<void> => {
  const { home, terminal, signal, address, clientFor } = options
  terminal.live('Lab: starting ...')
  const started = await stoppable(options.lab, signal)
  if ('why' in started) throw new Error(started.why)
  const client = clientFor(options.token)
  const asAdmin: AsAdmin = (work) => withBriefAdmin(options.databaseUrl, (token) => work(clientFor(token)))
  const lab = clientFor(home.adminToken, { origin: started.url, ownChild: true }, 'The lab')
  const { world, sites } = await readLabWorld(lab, started.url)
  const registered = await registerLabSites({ client, asAdmin, sites, password: home.password })
  terminal.live('')
  terminal.line('The lab is a simulated data centre to try things out on (DROVER_LAB=0 leaves it out).')
  if (options.workers === 0) return terminal.line('No worker runs here, so nobody reads it yet.')
  const usable = await followAll(options, { client, asAdmin, registered })
  terminal.line()
  for (const line of inventoryLines(await readInventory(client, address))) terminal.line(line)
  terminal.line()
  if (!usable || world !== 'small') return
  await showWave({ client, lab, signal, terminal, address })
  await showTemplate({ client, terminal, signal, address, imageDir: options.imageDir })
}

/** Does not wait any longer when told to stop. */
const stoppable = <Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> =>
  new Promise((resolve, reject) => {
    const stop = () => reject(new Error('Told to stop.'))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject)
  })

interface Parts {
  readonly client: Client
  readonly asAdmin: AsAdmin
  readonly registered: readonly Registered[]
}

/** Gives whether all of them are there, ours and read. */
const followAll = async (options: TourOptions, { client, asAdmin, registered }: Parts): Promise<boolean> => {
  const { terminal, home, address } = options
  const standing = new Map<string, string>()
  const paint = () => terminal.live([...standing].map(([name, text]) => `${name}: ${text}`).join('   '))
  const follow = async (one: Registered): Promise<boolean> => {
    const { name, role } = one.site
    if (one.outcome === 'foreign') {
      terminal.line(`  ${name} is no lab: somebody gave that name to another site, which is left alone`)
      return false
    }
    const beganMs = performance.now()
    const show = (text: string) => {
      standing.set(name, text)
      paint()
    }
    const { trouble } = await followSync({ client, asAdmin, password: home.password, registered: one, show })
    standing.delete(name)
    paint()
    const took = `${((performance.now() - beganMs) / 1_000).toFixed(1)} s`
    if (trouble === undefined) terminal.line(`  ${name.padEnd(12)} ${howRead[one.outcome]} in ${took}`)
    else {
      terminal.line(`  ${name.padEnd(12)} is not read: ${trouble.message} ${trouble.remedy}`.trimEnd())
      terminal.line(`  ${''.padEnd(12)} ${address}/${role}s/${name}`)
    }
    return trouble === undefined
  }
  return (await Promise.all(registered.map(follow))).every(Boolean)
}

const howRead = {
  added: 'connected and read',
  moved: 'found at its new address and read',
  known: 'read again',
} as const

const readInventory = async (client: Client, address: string) => {
  const [sources, targets, assessment, hosts] = await Promise.all([
    readSites(client, 'source'),
    readSites(client, 'target'),
    client.get<AssessmentSeen>('/v1/assessment'),
    client.get<{ items: readonly (HostSeen & { target: string | null })[] }>('/v1/hosts', { limit: 200 }),
  ])
  return {
    sources,
    targets,
    assessment,
    hosts: hosts.items.filter(({ target }) => target !== null),
    address,
  }
}

const readSites = async (client: Client, role: SiteRole): Promise<SiteSeen[]> => {
  const { items } = await client.get<{ items: readonly { name: string }[] }>(`/v1/${role}s`, {
    limit: sitesShown,
  })
  return await Promise.all(items.map(({ name }) => client.get<SiteSeen>(sitePath({ role, name }))))
}
