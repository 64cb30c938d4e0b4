import type { Client } from '../cli/kit/client.ts'
import { itemsOf, pathOf } from '../cli/kit/rows.ts'

/** The batch that the start migrates once, so that there is a migration to look at. */
export const waveName = 'lab-wave'

const source = 'lab-vcenter'
const target = 'lab-cloud'
const lookMs = 200
const waitLimitMs = 30_000

export interface WaveParts {
  readonly client: Client
  readonly lab: Client
}

/** What is to be done about the wave: it is made once in the life of an installation. */
export type WaveStanding = 'new' | 'half-made' | 'there' | 'removed'

/** Whoever removed the wave does not get it back with the next start. */
export const standingOfWave = async ({ client }: WaveParts): Promise<WaveStanding> => {
  const happened = async (types: string): Promise<boolean> => {
    for (let after: string | undefined; ; ) {
      const query = { subject: `batch/${waveName}`, types, limit: 1, after }
      const page = await client.get('/v1/events', query)
      if (itemsOf(page).length > 0 || page.end) return itemsOf(page).length > 0
      after = String(page.next)
    }
  }
  if ((await client.find(pathOf('batches', waveName))) === undefined)
    return (await happened('batch.created')) ? 'removed' : 'new'
  return (await happened('batch.started')) ? 'there' : 'half-made'
}

/** Where cards on networks of the source land: names differ, as they do between real sites. */
const networkOf: Readonly<Record<string, string>> = {
  shop: 'bridge-shop',
  office: 'bridge-office',
  'dmz-segment': 'bridge-office',
}

const mapNetworks = async (client: Client): Promise<void> => {
  for (const { id, name, version, overrides } of itemsOf(
    await client.get('/v1/networks', { source, limit: 200 }),
  )) {
    const network = networkOf[String(name)]
    // What a person has mapped stays as it is.
    if (network === undefined || Object.keys(overrides as object).length > 0) continue
    await client.ask('PUT', pathOf('networks', String(id), 'overrides'), {
      body: { network, nictype: 'managed' },
      headers: { 'if-match': `"${version}"` },
    })
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

/** Looks until it is so. */
const until = async (client: Client, what: string, isSo: () => Promise<boolean>): Promise<void> => {
  const endMs = performance.now() + waitLimitMs
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`${what} took longer than ${waitLimitMs / 1_000} s.`)
    await client.sleep(lookMs)
  }
}

/** Defines the wave, makes two of its machines conflict, and starts it. As often as one likes, until it has started. */
export const startWave = async (parts: WaveParts, standing: 'new' | 'half-made'): Promise<void> => {
  const { client } = parts
  await mapNetworks(client)
  if (standing === 'new') await client.post('/v1/batches', settings)
  // Only who belonged to it before can be missed at the start.
  await until(client, 'Searching for the machines of the wave', async () => {
    const { matched } = await client.get(pathOf('batches', waveName))
    return Number(matched) > 0
  })
  await disturb(parts)
  await client.post(pathOf('batches', waveName, ':start'))
}

/**
 * What happens between a plan and its night: somebody files a machine away, which then is not what was meant to
 * move; and a target has no room for a moment, just when a machine is to start there.
 */
const disturb = async ({ client, lab }: WaveParts): Promise<void> => {
  await lab.ask('PATCH', '/lab/sites/vcenter/instances/vm-111', { body: { folder: '/Paris/vm/archive' } })
  const { id } = await client.post(pathOf('sources', source, ':sync'), { mode: 'delta' })
  await until(client, `Reading ${source}`, async () => {
    const { state } = await client.get(pathOf('jobs', String(id)))
    return ['succeeded', 'failed', 'canceled'].includes(String(state))
  })
  const { faults } = await lab.get<{ faults: readonly unknown[] }>('/lab/faults')
  if (faults.length > 0) return
  await lab.post('/lab/faults', {
    kind: 'error',
    call: 'start',
    site: 'cloud',
    code: 'platform-no-capacity',
    failure: 'refused',
    message: 'No node has the memory free that this machine needs.',
    times: 1,
  })
}
