import type { ApiDoor } from '../api-request.ts'
import { type Clock, systemClock } from '../clock.ts'
import type { Terminal } from '../terminal.ts'
import { withBriefAdmin } from './brief-admin.ts'
import type { LabStart } from './fleet-of-roles.ts'
import { type Followed, followSync } from './follow-sync.ts'
import { type AssessmentSeen, type HostSeen, inventoryLines } from './inventory-lines.ts'
import type { LabHome } from './lab-home.ts'
import {
  askSite,
  moveSite,
  type Registered,
  readLabWorld,
  registerLabSites,
  type SiteRole,
  type SiteSeen,
} from './lab-sites.ts'
import { type Ask, localApi } from './local-api.ts'
import { showWave } from './show-wave.ts'

const sitesShown = 10

export interface LabInventoryOptions {
  readonly home: LabHome
  /** Resolves when the lab answers, or with why it will not. */
  readonly lab: Promise<LabStart>
  /** Where the console is. */
  readonly address: string
  /** Where the API is asked. */
  readonly door: ApiDoor
  /** An operator's. */
  readonly token: string
  readonly databaseUrl: string
  readonly workers: number
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly clock?: Clock
}

/**
 * Registers the lab, reads it, and shows what there is. Never throws: a fleet that serves is worth more than a
 * lab that does not.
 */
export const showLabInventory = async (options: LabInventoryOptions): Promise<void> => {
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

const show = async (options: LabInventoryOptions): Promise<void> => {
  const { home, terminal, signal, address, door: apiDoor } = options
  terminal.live('Lab: starting ...')
  const lab = await stoppable(options.lab, signal)
  if ('why' in lab) throw new Error(lab.why)
  const ask = localApi({ door: apiDoor, token: options.token, signal })
  const asAdmin = <Result>(work: (admin: Ask) => Promise<Result>) =>
    withBriefAdmin(options.databaseUrl, (token) => work(localApi({ door: apiDoor, token, signal })))
  const door = { url: lab.url, adminToken: home.adminToken, signal }
  const { world, sites } = await readLabWorld(door)
  const registered = await registerLabSites({ ask, asAdmin, sites, password: home.password })
  terminal.live('')
  terminal.line('The lab is a simulated data centre to try things out on (DROVER_LAB=0 leaves it out).')
  if (options.workers === 0) return terminal.line('No worker runs here, so nobody reads it yet.')
  const usable = await followAll(options, { ask, asAdmin, registered })
  terminal.line()
  for (const line of inventoryLines(await readInventory(ask, address))) terminal.line(line)
  terminal.line()
  const clock = options.clock ?? systemClock
  if (usable && world === 'small') await showWave({ ask, lab: door, clock, signal, terminal, address })
}

/** Does not wait any longer when told to stop. */
const stoppable = <Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> =>
  new Promise((resolve, reject) => {
    const stop = () => reject(new Error('Told to stop.'))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject)
  })

/** Gives whether all of them are there, ours and read. */
const followAll = async (
  options: LabInventoryOptions,
  parts: {
    readonly ask: Ask
    readonly asAdmin: <Result>(work: (admin: Ask) => Promise<Result>) => Promise<Result>
    readonly registered: readonly Registered[]
  },
): Promise<boolean> => {
  const { terminal, signal, home } = options
  const clock = options.clock ?? systemClock
  const standing = new Map<string, string>()
  const paint = () => terminal.live([...standing].map(([name, text]) => `${name}: ${text}`).join('   '))
  const outcomes = await Promise.all(
    parts.registered.map(async (registered) => {
      const { name } = registered.site
      if (registered.outcome === 'foreign') {
        terminal.line(`  ${name} is no lab: somebody gave that name to another site, which is left alone`)
        return false
      }
      const beganMs = clock.monotonicMs()
      const followed = await followSync({
        ask: parts.ask,
        registered,
        clock,
        signal,
        show: (text) => {
          standing.set(name, text)
          paint()
        },
        renewPassword: () => parts.asAdmin((admin) => moveSite(admin, registered.site, home.password)),
      })
      standing.delete(name)
      paint()
      const tookMs = clock.monotonicMs() - beganMs
      for (const line of outcomeLines(options, registered, followed, tookMs)) terminal.line(line)
      return followed.trouble === undefined
    }),
  )
  return outcomes.every(Boolean)
}

const outcomeLines = (
  { address }: LabInventoryOptions,
  { site, outcome }: Registered,
  { trouble }: Followed,
  tookMs: number,
): string[] => {
  const took = `${(tookMs / 1_000).toFixed(1)} s`
  if (trouble === undefined) {
    const how = {
      added: 'connected and read',
      moved: 'found at its new address and read',
      known: 'read again',
    }
    return [`  ${site.name.padEnd(12)} ${how[outcome as keyof typeof how]} in ${took}`]
  }
  return [
    `  ${site.name.padEnd(12)} is not read: ${trouble.message} ${trouble.remedy}`.trimEnd(),
    `  ${''.padEnd(12)} ${address}/${site.role}s/${site.name}`,
  ]
}

const readInventory = async (ask: Ask, address: string) => {
  const [sources, targets, assessment, hosts] = await Promise.all([
    readSites(ask, 'source'),
    readSites(ask, 'target'),
    ask<AssessmentSeen>('GET /v1/assessment'),
    ask<{ items: readonly (HostSeen & { target: string | null })[] }>('GET /v1/hosts?limit=200'),
  ])
  return {
    sources,
    targets,
    assessment: assessment.body,
    hosts: hosts.body.items.filter(({ target }) => target !== null),
    address,
  }
}

const readSites = async (ask: Ask, role: SiteRole): Promise<SiteSeen[]> => {
  const { body } = await ask<{ items: readonly { name: string }[] }>(`GET /v1/${role}s?limit=${sitesShown}`)
  return await Promise.all(body.items.map(async ({ name }) => (await askSite(ask, { role, name })).body))
}
