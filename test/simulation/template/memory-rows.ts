import type { SiteRow } from '../../../db/schema/inventory.ts'
import type {
  ImageReplicaRow,
  ImageRow,
  TemplateRow,
  TemplateVersionRow,
} from '../../../db/schema/template.ts'
import { requireTransition } from '../../../src/domain/table/state-table.ts'
import { templateTable } from '../../../src/domain/template/state.ts'
import type { RecordedError } from '../../../src/errors.ts'
import type { SwapRows } from '../../../src/template/swap/swap-rows.ts'

export interface MemoryEffect {
  id: string
  jobId: string
  kind: string
  platform: string
  name: string
  undo: Record<string, unknown> | null
  state: 'intended' | 'done' | 'undone' | 'debt'
  externalId: string | null
  attempts: number
  refused: boolean
  epoch: number
}

export interface MemoryJob {
  readonly id: string
  readonly templateId: string
  epoch: number
  state: 'ready' | 'running' | 'succeeded' | 'failed' | 'canceled'
  checkpoint: Record<string, unknown> | null
  failures: number
  cancelRequested: boolean
  error: string | null
}

/** The tables, as far as swaps know them. */
export interface Tables {
  templates: TemplateRow[]
  versions: TemplateVersionRow[]
  images: ImageRow[]
  replicas: ImageReplicaRow[]
  effects: MemoryEffect[]
  jobs: MemoryJob[]
}

export const isOpen = ({ state }: MemoryJob): boolean => state === 'ready' || state === 'running'

/** Whose statement it is: it may die before and after each. */
export interface MemoryDb {
  readonly pass: () => void
}

const must = <Row>(row: Row | undefined): Row => {
  if (row === undefined) throw new Error('No row.')
  return row
}

/** Postgres in memory: the verbs of swaps with the meaning that their statements have. */
export class MemoryRows {
  tables: Tables = { templates: [], versions: [], images: [], replicas: [], effects: [], jobs: [] }
  readonly site = { id: 'site', name: 'cloud', role: 'target' } as SiteRow
  #ids = 0

  id(what: string): string {
    this.#ids += 1
    return `${what}-${String(this.#ids).padStart(4, '0')}`
  }

  /** All or nothing, as far as the tables go. */
  async atomically<Value>(change: () => Promise<Value>): Promise<Value> {
    const before = structuredClone(this.tables)
    try {
      return await change()
    } catch (error) {
      this.tables = before
      throw error
    }
  }

  template(id: string): TemplateRow {
    return must(this.tables.templates.find((row) => row.id === id))
  }

  replica(id: string): ImageReplicaRow {
    return must(this.tables.replicas.find((row) => row.id === id))
  }

  version(templateId: string, number: number): TemplateVersionRow {
    return must(this.tables.versions.find((row) => row.templateId === templateId && row.number === number))
  }

  job(id: string): MemoryJob {
    return must(this.tables.jobs.find((row) => row.id === id))
  }

  send(templateId: string): MemoryJob {
    const job: MemoryJob = {
      ...{ id: this.id('job'), templateId, epoch: 0, state: 'ready', checkpoint: null, failures: 0 },
      ...{ cancelRequested: false, error: null },
    }
    this.tables.jobs.push(job)
    return job
  }

  /** As the verbs of swaps see them; each statement is a point at which its process may die. */
  get rows(): SwapRows {
    const point = <Args extends unknown[], Value>(verb: (...args: Args) => Value) => {
      return async (db: unknown, ...args: Args): Promise<Value> => {
        ;(db as MemoryDb).pass()
        return structuredClone(verb(...args))
      }
    }
    const verbs: Record<string, unknown> = {}
    for (const [name, verb] of Object.entries(this.#verbs())) verbs[name] = point(verb as never)
    return verbs as SwapRows
  }

  #verbs() {
    return { ...this.#templateVerbs(), ...this.#replicaVerbs(), ...this.#effectVerbs() }
  }

  #templateVerbs() {
    const t = () => this.tables
    return {
      installationId: () => 'here',
      loadSiteById: () => this.site,
      findTemplateById: (id: string) => t().templates.find((row) => row.id === id),
      lockTemplateById: (id: string) => t().templates.find((row) => row.id === id),
      findVersion: (id: string, number: number) =>
        t().versions.find((row) => row.templateId === id && row.number === number),
      findImage: (id: string) => t().images.find((row) => row.id === id),
      moveTemplate: (
        { id, state }: TemplateRow,
        move: {
          event: never
          reason: string
          message: string
          error?: RecordedError
          jobId?: string
          versionLive?: number
        },
      ) => {
        const row = this.template(id)
        if (row.state !== state) throw new Error(`Template is ${row.state}, not ${state}.`)
        row.state = requireTransition(templateTable, state, move.event).to as TemplateRow['state']
        Object.assign(row, { reason: move.reason, message: move.message, error: move.error ?? null })
        row.jobId = move.jobId ?? row.jobId
        row.versionLive = move.versionLive ?? row.versionLive
        return row
      },
      noteTemplate: (id: string, note: { reason: string; message: string }) =>
        void Object.assign(this.template(id), note),
      noteTemplateTrouble: (id: string, error: RecordedError) =>
        void Object.assign(this.template(id), { reason: error.code, message: error.message, error }),
      retireVersion: (of: { templateId: string; number: number }) => {
        const row = this.version(of.templateId, of.number)
        if (row.state === 'live') row.state = 'kept'
      },
      moveVersion: (of: { templateId: string; number: number }, replicaId: string) => {
        this.version(of.templateId, of.number).replicaId = replicaId
      },
      makeVersionLive: (
        of: { templateId: string; number: number },
        live: { replicaId: string; gapMs: number },
      ) => {
        const row = this.version(of.templateId, of.number)
        if (t().versions.some((one) => one.templateId === of.templateId && one.state === 'live'))
          throw new Error('Two versions are live.')
        if (row.state !== 'wanted') return
        Object.assign(row, { state: 'live', replicaId: live.replicaId, gapMs: live.gapMs })
      },
    }
  }

  #replicaVerbs() {
    const all = () => this.tables.replicas
    const onShelf = (row: ImageReplicaRow) => row.state === 'ready' && row.templateId === null
    const isTwin = (a: ImageReplicaRow, b: ImageReplicaRow) => a.imageId === b.imageId && a.id !== b.id
    return {
      findReplica: (id: string) => all().find((row) => row.id === id),
      findShelfReplica: ({ imageId }: { imageId: string }) =>
        all().find((row) => onShelf(row) && row.imageId === imageId),
      findReplicasByRef: ({ refs }: { refs: readonly string[] }) =>
        all().filter((row) => row.state !== 'gone' && refs.includes(row.ref ?? '')),
      listReplicasOfTemplate: (id: string) =>
        all().filter((row) => row.templateId === id && row.state !== 'gone'),
      insertReplica: (made: Partial<ImageReplicaRow>) => {
        const row = { ref: null, state: 'importing', goneAt: null, ...made } as ImageReplicaRow
        all().push(row)
        return row
      },
      writeReplica: (id: string, now: Partial<ImageReplicaRow>) => {
        const row = this.replica(id)
        if (row.state === 'gone') return undefined
        Object.assign(row, Object.fromEntries(Object.entries(now).filter(([, value]) => value !== undefined)))
        this.#refuseTwins()
        return row
      },
      findBegunReplica: (of: { id: string; templateId: string }) =>
        all().find(
          (row) => row.id === of.id && row.templateId === of.templateId && row.state === 'importing',
        ),
      claimShelfReplica: ({ id, templateId }: { id: string; templateId: string }) => {
        const row = this.replica(id)
        if (row.state !== 'ready' || (row.templateId !== null && row.templateId !== templateId)) return false
        row.templateId = templateId
        return true
      },
      recordFoundReplica: (found: Partial<ImageReplicaRow>) => {
        if (all().some((row) => row.state !== 'gone' && row.ref === found.ref)) return
        all().push({ state: 'ready', goneAt: null, ...found } as ImageReplicaRow)
      },
      shelveReplica: (id: string) => {
        const row = this.replica(id)
        if (row.state !== 'ready' || all().some((one) => onShelf(one) && isTwin(one, row))) return false
        row.templateId = null
        return true
      },
      dropBegunReplicas: (templateId: string) => {
        for (const row of all())
          if (row.templateId === templateId && row.state === 'importing') row.state = 'gone'
      },
      findSurplusReplicas: (templateId: string) => this.#surplus(templateId),
      beginRemoval: (id: string) => {
        const row = this.replica(id)
        if (row.state !== 'removing' && (!onShelf(row) || this.#needed().has(row.imageId))) return false
        row.state = 'removing'
        return true
      },
      endRemoval: (id: string) => {
        this.replica(id).state = 'gone'
        for (const v of this.tables.versions) if (v.replicaId === id && v.state === 'kept') v.state = 'gone'
      },
    }
  }

  /** What the unique indexes refuse. */
  #refuseTwins(): void {
    const seen = new Set<string>()
    for (const row of this.tables.replicas) {
      if (row.state === 'gone') continue
      const keys = [
        ...(row.ref === null ? [] : [`ref ${row.ref}`]),
        ...(row.templateId === null && row.state === 'ready' ? [`shelf ${row.imageId}`] : []),
      ]
      for (const key of keys) {
        if (seen.has(key)) throw new Error(`Two replicas: ${key}.`)
        seen.add(key)
      }
    }
  }

  #needed(): ReadonlySet<string> {
    const needed = new Set<string>()
    for (const { id, keepVersions } of this.tables.templates) {
      const mine = this.tables.versions.filter((v) => v.templateId === id).sort((a, b) => b.number - a.number)
      const kept = mine.filter(({ state }) => state === 'kept').slice(0, keepVersions)
      for (const v of [...kept, ...mine.filter(({ state }) => state === 'live' || state === 'wanted')])
        needed.add(v.imageId)
    }
    return needed
  }

  #surplus(templateId: string): ImageReplicaRow[] {
    const needed = this.#needed()
    const was = (id: string) =>
      this.tables.versions.some(
        (v) => v.replicaId === id && v.templateId === templateId && v.state === 'kept',
      )
    return this.tables.replicas.filter(
      (row) => row.state === 'ready' && row.templateId === null && was(row.id) && !needed.has(row.imageId),
    )
  }

  #effectVerbs() {
    const all = () => this.tables.effects
    return {
      oweRemoval: (owed: Pick<MemoryEffect, 'id' | 'jobId' | 'kind' | 'platform' | 'name' | 'undo'>) => {
        if (all().some(({ jobId, name }) => jobId === owed.jobId && name === owed.name)) return
        const { id, jobId, kind, platform, name, undo } = owed
        const fresh = { state: 'debt', externalId: null, attempts: 0, refused: false, epoch: 0 } as const
        all().push({ id, jobId, kind, platform, name, undo, ...fresh })
      },
      settleEffect: ({ id, outcome }: { id: string; outcome: 'undone' | 'debt' }) => {
        must(all().find((row) => row.id === id)).state = outcome
      },
      hasOpenTask: ({ jobId, kind }: { jobId: string; kind: string }) =>
        all().some(
          (row) => row.jobId === jobId && row.kind === kind && ['intended', 'debt'].includes(row.state),
        ),
      isAnotherAt: ({ templateId, jobId }: { templateId: string; jobId: string }) =>
        this.tables.jobs.some((job) => job.templateId === templateId && job.id !== jobId && isOpen(job)),
      sendSwap: ({ templateId }: { templateId: string }) => this.send(templateId).id,
    }
  }
}
