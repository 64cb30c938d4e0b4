import type { Clock } from '../clock.ts'
import { askLab, type LabDoor } from './ask-lab.ts'
import { ApiRefused, type Ask } from './local-api.ts'

/** The batch that the start migrates once, so that there is a migration to look at. */
export const waveName = 'lab-wave'

const source = 'lab-vcenter'
const target = 'lab-cloud'
const lookMs = 200
const patienceMs = 30_000

export interface WaveParts {
  readonly ask: Ask
  readonly lab: LabDoor
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** What is to be done about the wave: it is made once in the life of an installation. */
export type WaveStanding = 'new' | 'half-made' | 'there' | 'removed'

/** Whoever removed the wave does not get it back with the next start. */
export const standingOfWave = async ({ ask }: Pick<WaveParts, 'ask'>): Promise<WaveStanding> => {
  const happened = async (type: string): Promise<boolean> => {
    const path = `GET /v1/events?subject=batch/${waveName}&types=${type}&limit=1` as const
    for (let after = ''; ; ) {
      const { body } = await ask<{ items: readonly unknown[]; next: string; end: boolean }>(
        `${path}${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`,
      )
      if (body.items.length > 0 || body.end) return body.items.length > 0
      after = body.next
    }
  }
  if (!(await isThere(ask))) return (await happened('batch.created')) ? 'removed' : 'new'
  return (await happened('batch.started')) ? 'there' : 'half-made'
}

const isThere = async (ask: Ask): Promise<boolean> => {
  try {
    await ask(`GET /v1/batches/${waveName}`)
    return true
  } catch (error) {
    if (error instanceof ApiRefused && error.status === 404) return false
    throw error
  }
}

/** Where cards on networks of the source land: names differ, as they do between real sites. */
const networkOf: Readonly<Record<string, string>> = {
  shop: 'bridge-shop',
  office: 'bridge-office',
  'dmz-segment': 'bridge-office',
}

const mapNetworks = async (ask: Ask): Promise<void> => {
  const { body } = await ask<{
    items: readonly { id: string; name: string; version: number; overrides: object }[]
  }>(`GET /v1/networks?source=${source}&limit=200`)
  for (const { id, name, version, overrides } of body.items) {
    const network = networkOf[name]
    // What a person has mapped stays as it is.
    if (network === undefined || Object.keys(overrides).length > 0) continue
    const place = { network, nictype: 'managed' }
    await ask(`PUT /v1/networks/${id}/overrides`, place, { 'if-match': `"${version}"` })
  }
}

const settings = {
  name: waveName,
  include_expression: `source == "${source}" && location.matches("^/Paris/vm/(shop|office|network)/") && power_state != "suspended"`,
  defaults: { placement: { target, target_project: 'default', storage_pool: 'local' } },
  config: {
    // One of them is off at its source, so nobody has seen its address.
    instance_restriction_overrides: { allow_no_ipv4: true },
    // One refused start is enough for a conflict.
    post_migration_retries: 0,
  },
}

/** A look until it sees something. */
const until = async <Found>(
  { clock, signal }: Pick<WaveParts, 'clock' | 'signal'>,
  what: string,
  look: () => Promise<Found | undefined>,
): Promise<Found> => {
  const end = clock.monotonicMs() + patienceMs
  for (;;) {
    signal.throwIfAborted()
    const found = await look()
    if (found !== undefined) return found
    if (clock.monotonicMs() > end) throw new Error(`${what} took longer than ${patienceMs / 1_000} s.`)
    await clock.sleep(lookMs, signal)
  }
}

/** Defines the wave, makes two of its machines conflict, and starts it. As often as one likes, until it has started. */
export const startWave = async (parts: WaveParts, standing: 'new' | 'half-made'): Promise<void> => {
  const { ask } = parts
  await mapNetworks(ask)
  if (standing === 'new') await ask('POST /v1/batches', settings)
  // Only who belonged to it before can be missed at the start.
  await until(parts, 'Searching for the machines of the wave', async () => {
    const { body } = await ask<{ matched: number }>(`GET /v1/batches/${waveName}`)
    return body.matched > 0 ? true : undefined
  })
  await disturb(parts)
  await ask(`POST /v1/batches/${waveName}/:start`)
}

/**
 * What happens between a plan and its night: somebody files a machine away, which then is not what was meant to
 * move; and a target has no room for a moment, just when a machine is to start there.
 */
const disturb = async (parts: WaveParts): Promise<void> => {
  const { ask, lab } = parts
  await askLab(lab, 'PATCH /lab/sites/vcenter/instances/vm-111', { folder: '/Paris/vm/archive' })
  const { body } = await ask<{ id: string }>(`POST /v1/sources/${source}/:sync`, { mode: 'delta' })
  await until(parts, `Reading ${source}`, async () => {
    const job = await ask<{ state: string }>(`GET /v1/jobs/${body.id}`)
    return ['succeeded', 'failed', 'canceled'].includes(job.body.state) ? true : undefined
  })
  const faults = JSON.parse(await askLab(lab, 'GET /lab/faults')) as { faults: readonly unknown[] }
  if (faults.faults.length > 0) return
  await askLab(lab, 'POST /lab/faults', {
    kind: 'error',
    call: 'start',
    site: 'cloud',
    code: 'platform-no-capacity',
    failure: 'refused',
    message: 'No node has the memory free that this machine needs.',
    times: 1,
  })
}
