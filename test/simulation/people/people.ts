import type { Db } from '../../../db/client.ts'
import { type Client, clientOf, depsOver } from '../../api/setup.ts'

/** What people do, at random moments and with random things. */
export type Deed =
  | {
      readonly do: 'batch'
      readonly verb: 'define' | 'start' | 'stop' | 'reset' | 'delete'
      readonly at: number
    }
  | {
      readonly do: 'entry'
      readonly verb: 'cancel' | 'clean-up' | 'retry' | 'resolve' | 'remove' | 'remove-with-copy'
      readonly at: number
    }
  /** `raw`: the job itself, as whoever knows its kind may send it. */
  | {
      readonly do: 'power'
      readonly verb: 'start' | 'stop' | 'shutdown' | 'restart'
      readonly at: number
      readonly raw: boolean
    }
  | {
      readonly do: 'operate'
      readonly kind: 'start' | 'stop' | 'restart'
      readonly at: number
      readonly force: boolean
    }
  /** Whoever finds machines off after an outage starts all of them. */
  | { readonly do: 'start-all'; readonly raw: boolean }
  | { readonly do: 'policy'; readonly policy: 'manual' | 'always-on' | 'always-off'; readonly at: number }
  /** Their batch is given a script that places what is in it elsewhere, or where it was. */
  | { readonly do: 'place'; readonly pool: 'ds-1' | 'ds-2'; readonly at: number }
  | { readonly do: 'plan' | 'self-test' | 'track'; readonly at: number }
  | { readonly do: 'sync' | 'check'; readonly at: number }
  | { readonly do: 'job'; readonly verb: 'cancel' | 'retry'; readonly at: number }
  | { readonly do: 'waive'; readonly what: 'rule' | 'effect'; readonly at: number }

/** Of each batch one source at a time is off: what there is to do beside it waits for its end. */
export const atOnce = 1

export interface NewBatch {
  readonly name: string
  readonly source: string
  readonly target: string
}

/** Everything that asks a person whether it is meant is meant. */
const sure = { force: true }

/** The API of this process; nobody asks too often. */
export const openApi = (db: Db): Client =>
  clientOf(depsOver(db, { limits: { requestsPerSecond: 1e6, requestsBurst: 1e6 } }))

/** People before the API: what is refused is an answer, what goes wrong is not. */
export class People {
  readonly #db: Db
  readonly #ask: Client
  readonly #batches: readonly NewBatch[]
  readonly said: { readonly what: string; readonly status: number; readonly answer: string }[] = []

  constructor(db: Db, ask: Client, batches: readonly NewBatch[]) {
    this.#db = db
    this.#ask = ask
    this.#batches = batches
  }

  /** What was said and answered, for whoever reads how a story went. */
  get story(): string {
    return this.said.map(({ what, status, answer }) => `${what}: ${status} ${answer}`).join('\n')
  }

  async perform(deed: Deed): Promise<void> {
    switch (deed.do) {
      case 'batch':
        return this.#batch(deed.verb, this.#batches[deed.at % this.#batches.length] as NewBatch)
      case 'entry':
        return this.#entry(deed.verb, deed.at)
      case 'power':
        return this.#power(deed)
      case 'operate': {
        const { kind, force } = deed
        const machine = await this.#pick('machine', deed.at, 'where gone_at is null')
        return this.#say('POST', '/operations', { machine, kind, ...(kind === 'start' ? {} : { force }) })
      }
      case 'start-all':
        return this.#startAll(deed.raw)
      case 'policy': {
        const machine = await this.#pick('machine', deed.at, 'where gone_at is null')
        return this.#say('PATCH', `/machines/${machine}`, { run_policy: deed.policy })
      }
      case 'sync':
      case 'check': {
        const [site] = await this.#sites(deed.at)
        return this.#say(
          'POST',
          `/${site?.role}s/${site?.name}/:${deed.do}`,
          deed.do === 'sync' ? { mode: 'full' } : undefined,
        )
      }
      case 'job': {
        const job = await this.#pick('job', deed.at, `where kind <> 'settle-debt'`)
        return this.#say('POST', `/jobs/${job}/:${deed.verb}`, {})
      }
      case 'place':
        return this.#place(this.#batches[deed.at % this.#batches.length] as NewBatch, deed.pool)
      case 'plan': {
        const batch = this.#batches[deed.at % this.#batches.length] as NewBatch
        return this.#say('POST', `/batches/${batch.name}/:plan`, {})
      }
      case 'track': {
        const instance = await this.#pick('instance', deed.at)
        return this.#say('POST', `/instances/${instance}/:reset-background-import`, {})
      }
      case 'self-test':
        return this.#say('POST', '/jobs', {
          ...{ kind: 'self-test', payload: { outcome: 'fail-once' } },
          subject: { type: 'self-test', id: 'story' },
        })
      case 'waive':
        return this.#waive(deed.what, deed.at)
    }
  }

  async #batch(verb: Extract<Deed, { do: 'batch' }>['verb'], batch: NewBatch): Promise<void> {
    if (verb === 'define') return this.#say('POST', '/batches', settingsOf(batch))
    if (verb === 'delete') return this.#say('DELETE', `/batches/${batch.name}`)
    return this.#say('POST', `/batches/${batch.name}/:${verb}`, verb === 'reset' ? sure : undefined)
  }

  /** All settings as they are, but for the script. */
  async #place(batch: NewBatch, pool: string): Promise<void> {
    const path = `/batches/${batch.name}`
    const { status, body } = await this.#ask('GET', `/v1${path}`)
    if (status !== 200) return
    const { held: _, ...window } = (body.migration_windows as { held: number }[])[0] ?? { held: 0 }
    const settings = settingsOf(batch)
    const placement_scriptlet = `function placement(instance) {
      for (const disk of instance.disks) setPool(disk.key, '${pool}')
    }`
    const config = { ...settings.config, placement_scriptlet }
    await this.#say('PUT', path, { ...settings, migration_windows: [window], config }, [422])
  }

  async #entry(verb: Extract<Deed, { do: 'entry' }>['verb'], at: number): Promise<void> {
    const entry = await this.#pick('entry', at)
    if (verb === 'remove') return this.#say('DELETE', `/queue/${entry}`)
    if (verb === 'remove-with-copy') return this.#say('DELETE', `/queue/${entry}?cleanup=true`)
    if (verb === 'retry' || verb === 'resolve') return this.#say('POST', `/queue/${entry}/:${verb}`, {})
    return this.#say('POST', `/queue/${entry}/:cancel`, { ...sure, cleanup: verb === 'clean-up' })
  }

  async #power({ verb, at, raw }: Extract<Deed, { do: 'power' }>): Promise<void> {
    const instance = await this.#pick('instance', at)
    const asked = { verb, force: true, timeout_seconds: 5 }
    if (!raw) return this.#say('POST', `/instances/${instance}/:power`, asked)
    const subject = { type: 'instance', id: instance }
    return this.#say('POST', '/jobs', { kind: 'power-instance', payload: { instance, ...asked }, subject })
  }

  async #startAll(raw: boolean): Promise<void> {
    const [row] = await this.#db<{ instances: number; machines: number }[]>`
      select (select count(*)::int from instance) as instances,
        (select count(*)::int from machine where gone_at is null) as machines`
    for (let at = 0; at < (row?.instances ?? 0); at += 1)
      await this.perform({ do: 'power', verb: 'start', at, raw })
    for (let at = 0; at < (row?.machines ?? 0); at += 1)
      await this.perform({ do: 'operate', kind: 'start', at, force: false })
  }

  async #waive(what: 'rule' | 'effect', at: number): Promise<void> {
    if (what === 'effect')
      return this.#say(
        'POST',
        `/effects/${await this.#pick('effect', at, `where state in ('debt', 'intended')`)}/:waive`,
        {
          reason: 'looked at by hand',
        },
      )
    const instance_id = await this.#pick('instance', at)
    return this.#say('POST', '/waivers', { rule: 'tracking-off', instance_id, reason: 'a person said so' })
  }

  #sites(at: number): Promise<{ role: string; name: string }[]> {
    return this.#db<{ role: string; name: string }[]>`
      select role, name from site order by name offset (${at}::int % (select count(*)::int from site)) limit 1`
  }

  /** One of them, in the order in which they came; where there is none nobody's. */
  async #pick(table: string, at: number, where = ''): Promise<string> {
    const rows = await this.#db.unsafe<{ id: string }[]>(`select id from ${table} ${where} order by id`)
    return rows[at % Math.max(1, rows.length)]?.id ?? '00000000-0000-4000-8000-000000000000'
  }

  /** `refusals`: what may be answered beside the usual. */
  async #say(method: string, path: string, json?: unknown, refusals: readonly number[] = []): Promise<void> {
    const { status, body } = await this.#ask(method, `/v1${path}`, {
      headers: { 'if-match': '*' },
      ...(json === undefined ? {} : { json }),
    })
    const what = `${method} ${path.replace(/[0-9a-f-]{36}/, '{id}')}${json === undefined ? '' : ` ${JSON.stringify(json)}`}`
    this.said.push({ what, status, answer: `${body.code ?? ''} ${body.detail ?? ''}` })
    // They read what is forgotten, and mean it.
    if (body.code === 'finished-not-confirmed') {
      const confirm_finished = Number(body.matched)
      return method === 'DELETE'
        ? this.#say(method, `${path}${path.includes('?') ? '&' : '?'}confirm_finished=${confirm_finished}`)
        : this.#say(method, path, { ...(json as object), confirm_finished })
    }
    if (status >= 500 || ([400, 422].includes(status) && !refusals.includes(status)))
      throw new Error(
        `${method} ${path} ${JSON.stringify(json)} was answered ${status}: ${JSON.stringify(body)}`,
      )
  }
}

const settingsOf = ({ name, source, target }: NewBatch) => ({
  name,
  include_expression: `source == ${JSON.stringify(source)}`,
  defaults: { placement: { target, storage_pool: 'ds-1' } },
  migration_windows: [
    { name: 'night', end: '2999-01-01T00:00:00Z', capacity: source === 'east' ? atOnce : 0 },
  ],
  constraints: [{ name: 'few', include_expression: 'true', max_concurrent_instances: atOnce }],
  config: {
    guest_shutdown_limit: '4s',
    boot_limit: '6s',
    post_migration_retries: 1,
    instance_restriction_overrides: { allow_no_background_import: true },
  },
})
