import { createLab, type TestLab } from '../support/lab.ts'
import { until } from '../support/wait.ts'
import { patienceMs } from './browser.ts'
import { type Fleet, startFleet } from './fleet.ts'

export interface SeenEntry {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly certificate_id: string | null
}

export interface MigrationLab {
  readonly fleet: Fleet
  readonly lab: TestLab
  /** A batch that has found its machines; it is not started. */
  define(name: string, expression: string): Promise<void>
  entriesOf(batch: string): Promise<readonly SeenEntry[]>
  entryOf(batch: string, name: string): Promise<SeenEntry>
  /** Reads the source again, after the lab was changed. */
  readSource(): Promise<void>
}

interface Site {
  readonly sync: { readonly synced_at: string | null }
}

/** A fleet that knows the lab as the source paris and the target lyon, with the networks that machines need. */
export const startMigrationLab = async (
  prepare: (lab: TestLab) => Promise<void> = async () => {},
): Promise<MigrationLab> => {
  const fleet = await startFleet()
  const lab = await createLab()
  await prepare(lab)
  for (const [role, name, site] of [
    ['source', 'paris', 'vcenter'],
    ['target', 'lyon', 'cloud'],
  ] as const) {
    const where = { kind: 'lab', endpoint: lab.endpoint(site), username: 'drover', password: lab.password }
    await fleet.ask('POST', `/v1/${role}s`, { name, ...where })
    const read = async () => (await fleet.ask<Site>('GET', `/v1/${role}s/${name}`)).sync.synced_at !== null
    await until(read, { what: `${name} to be read`, withinMs: patienceMs })
  }
  await mapNetworks(fleet)
  const entriesOf: MigrationLab['entriesOf'] = async (batch) =>
    (await fleet.ask<{ items: SeenEntry[] }>('GET', `/v1/queue?batch=${batch}&limit=100`)).items
  return {
    ...{ fleet, lab, entriesOf },
    entryOf: async (batch, name) => {
      const entry = (await entriesOf(batch)).find((one) => one.name === name)
      if (!entry) throw new Error(`The batch ${batch} has no ${name}.`)
      return entry
    },
    define: async (name, expression) => {
      await fleet.ask('POST', '/v1/batches', {
        name,
        include_expression: expression,
        defaults: { placement: { target: 'lyon', target_project: 'default', storage_pool: 'local' } },
      })
      const matched = async () =>
        (await fleet.ask<{ matched: number }>('GET', `/v1/batches/${name}`)).matched > 0
      await until(matched, { what: `the machines of ${name}`, withinMs: patienceMs })
    },
    readSource: async () => {
      const { id } = await fleet.ask<{ id: string }>('POST', '/v1/sources/paris/:sync', { mode: 'delta' })
      const ended = async () =>
        (await fleet.ask<{ state: string }>('GET', `/v1/jobs/${id}`)).state === 'succeeded'
      await until(ended, { what: 'the source to be read', withinMs: patienceMs })
    },
  }
}

const mapNetworks = async (fleet: Fleet): Promise<void> => {
  const { items } = await fleet.ask<{ items: { id: string; name: string }[] }>(
    'GET',
    '/v1/networks?source=paris',
  )
  for (const { id, name } of items) {
    if (name !== 'shop' && name !== 'office') continue
    const answer = await fetch(`${fleet.url}/v1/networks/${id}/overrides`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${fleet.adminToken}`,
        'content-type': 'application/json',
        'if-match': '*',
      },
      body: JSON.stringify({ network: `bridge-${name}`, nictype: 'managed' }),
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
}
