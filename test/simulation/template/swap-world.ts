import type { ImageRow, TemplateRow, TemplateVersionRow } from '../../../db/schema/template.ts'
import { ownerOfImage, templateNames } from '../../../src/domain/template/names.ts'
import type { Handler } from '../../../src/ledger/job.ts'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import { handleSwapTemplate } from '../../../workers/handlers/swap-template.ts'
import { plainImporter, plainImportKind } from '../../support/plain-importer.ts'
import { type Fate, Life } from '../operation/life.ts'
import { folderPlatform } from './folder-port.ts'
import { ImaginedFolder, type Trouble } from './imagined-folder.ts'
import { judgeMoment, judgeRest } from './judge.ts'
import { MemoryTurn } from './memory-job.ts'
import { isOpen, type MemoryJob, MemoryRows } from './memory-rows.ts'

export type Step =
  | { readonly do: 'ask'; readonly at: number; readonly image: number }
  /** A worker takes up a job that is open, and has its fate. */
  | { readonly do: 'work'; readonly at: number; readonly fate: Fate; readonly patience: number }
  | { readonly do: 'thaw' | 'lose' | 'come' | 'garble' | 'mend' }
  | { readonly do: 'cancel'; readonly at: number }
  | { readonly do: 'debts'; readonly fate: Fate }
  | { readonly do: 'stranger'; readonly at: number; readonly role: number; readonly elsewhere: boolean }
  | { readonly do: 'leave'; readonly at: number }
  | { readonly do: 'trouble'; readonly what: Trouble }
  /** Somebody removes an object of ours. */
  | { readonly do: 'vanish'; readonly at: number }

export interface Setting {
  readonly remembersNames: boolean
  readonly keepVersions: number
  /** Templates in one folder that share images. */
  readonly templates: number
}

interface Frozen {
  readonly life: Life
  readonly end: Promise<void>
}

export const folderName = '/cloud/templates'
const images = ['image-1', 'image-2', 'image-3']
const noFate: Fate = { diesAfter: null, freezesAfter: null }

/** Templates of an imagined platform, rows in memory, and the product's handler in processes that die and freeze. */
export class SwapWorld {
  readonly memory = new MemoryRows()
  readonly folder: ImaginedFolder
  readonly broken: string[] = []
  /** Templates whose name has resolved, and from which nobody took it away. */
  readonly resolved = new Set<string>()
  readonly #handler: Handler
  #frozen: Frozen[] = []
  #dice = 1

  constructor({ remembersNames, keepVersions, templates }: Setting) {
    this.folder = new ImaginedFolder(remembersNames)
    this.folder.patience = () => this.#throwDice()
    this.folder.onChange = () => judgeMoment(this)
    const { site, rows } = this.memory
    const importer = plainImporter({ installation: 'here', site })
    const handler = handleSwapTemplate(importer.importImage, rows)
    this.#handler = { ...handler, undoers: { ...handler.undoers, [plainImportKind]: importer.undoer } }
    const facts = { product: 'os', version: '1' }
    for (const id of images)
      this.memory.tables.images.push({ id, name: id, state: 'ready', facts } as unknown as ImageRow)
    for (let at = 0; at < templates; at += 1) this.#addTemplate(`golden-${at}`, keepVersions)
  }

  get templates(): readonly TemplateRow[] {
    return this.memory.tables.templates
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'ask':
        return this.#ask(this.#pick(this.templates, step.at), images[step.image % images.length] ?? '')
      case 'work': {
        this.#dice = step.patience
        const job = this.#pick(this.#ready(), step.at)
        return job && this.#work(job, step.fate)
      }
      case 'thaw':
        return this.#thaw()
      case 'lose':
        return this.#lose()
      case 'come':
        return this.folder.advanceAll()
      case 'garble':
        this.folder.losesAnswer = true
        return
      case 'mend':
        return this.folder.trouble.clear()
      case 'cancel': {
        const job = this.#pick(this.memory.tables.jobs.filter(isOpen), step.at)
        if (job) job.cancelRequested = true
        return
      }
      case 'debts':
        return this.#debts(step.fate)
      case 'trouble':
        return void this.folder.trouble.add(step.what)
      case 'stranger':
      case 'leave':
      case 'vanish':
        return this.#meddle(step)
    }
  }

  /** All trouble passes, and everybody works until nothing is left to be done. */
  async settle(): Promise<void> {
    this.folder.trouble.clear()
    this.folder.losesAnswer = false
    for (let round = 0; round < 60; round += 1) {
      this.#dice = round * 7 + 1
      if (round % 2 === 1) this.folder.advanceAll()
      await this.#thaw()
      this.#lose()
      await this.#debts(noFate)
      for (const job of this.#ready()) await this.#work(job, noFate)
      const { jobs, effects } = this.memory.tables
      if (!jobs.some(isOpen) && !effects.some(({ state }) => state === 'debt' || state === 'intended')) return
    }
    const { jobs, effects } = this.memory.tables
    const left = { jobs: jobs.filter(isOpen), effects: effects.filter(({ state }) => state === 'debt') }
    this.broken.push(`it never comes to rest: ${JSON.stringify(left)}`)
  }

  /** Whoever is in the way goes, and everybody who did not get there tries once more: then all is as it should be. */
  async rescue(): Promise<void> {
    for (const { ref, folder } of [...this.folder.things.values()])
      if (folder === folderName && this.folder.isStranger(ref)) this.folder.remove(ref)
    // A person may have taken away what is live: nobody knows of that before somebody looks.
    for (const template of this.templates) this.#send(template)
    await this.settle()
    this.broken.push(...judgeRest(this))
  }

  #addTemplate(name: string, keepVersions: number): void {
    const id = this.memory.id('template')
    const row = {
      ...{ id, name, targetId: 'site', folder: folderName, production: name, keepVersions },
      ...{ project: '', pool: '', host: '', network: '', imageId: images[0], versionLive: null },
      ...{ versionWanted: 1, graceSeconds: 600, allowDowngrade: true, state: 'absent', reason: 'asked' },
      ...{ message: '', error: null, jobId: null, deletedAt: null },
    }
    this.memory.tables.templates.push(row as unknown as TemplateRow)
    this.#addVersion(id, 1, images[0] ?? '')
    this.#send(this.memory.template(id))
  }

  #addVersion(templateId: string, number: number, imageId: string): void {
    const version = { templateId, number, imageId, replicaId: null, state: 'wanted', cause: 'update' }
    this.memory.tables.versions.push(version as unknown as TemplateVersionRow)
  }

  /** As the API does: another version is wanted; a job that is at it sees that by itself. */
  #ask(template: TemplateRow | undefined, imageId: string): void {
    if (!template) return
    const { versions, jobs } = this.memory.tables
    for (const version of versions)
      if (version.templateId === template.id && version.state === 'wanted') version.state = 'withdrawn'
    template.versionWanted =
      Math.max(0, ...versions.filter((v) => v.templateId === template.id).map((v) => v.number)) + 1
    template.imageId = imageId
    template.state = 'swapping'
    this.#addVersion(template.id, template.versionWanted, imageId)
    if (!jobs.some((job) => job.templateId === template.id && isOpen(job))) this.#send(template)
  }

  #send(template: TemplateRow): void {
    template.jobId = this.memory.send(template.id).id
    template.state = 'swapping'
  }

  async #work(job: MemoryJob, fate: Fate): Promise<void> {
    const life = new Life(fate)
    const turn = this.#turn(job, life)
    const end = turn.run()
    const froze = await Promise.race([end.then(() => false), life.frozen.then(() => true)])
    if (froze) this.#frozen.push({ life, end })
  }

  #turn(job: MemoryJob, life: Life): MemoryTurn {
    const { memory, folder } = this
    const usePlatform = <Result>(_site: unknown, work: (platform: Platform) => Promise<Result>) =>
      work(folderPlatform(folder, life))
    return new MemoryTurn({ memory, job, life, usePlatform, handler: this.#handler })
  }

  async #thaw(): Promise<void> {
    const frozen = this.#frozen
    this.#frozen = []
    for (const { life, end } of frozen) {
      life.thaw()
      await end
    }
  }

  /** The leases of the dead and the frozen are over. */
  #lose(): void {
    for (const job of this.memory.tables.jobs) {
      if (job.state !== 'running') continue
      job.state = 'ready'
      job.epoch += 1
    }
  }

  async #debts({ diesAfter }: Fate): Promise<void> {
    const { jobs, effects } = this.memory.tables
    const ended = (id: string) => !jobs.some((job) => job.id === id && isOpen(job))
    const due = effects.filter(({ state, jobId }) => state === 'debt' && ended(jobId)).map(({ id }) => id)
    for (const id of due) {
      const settling = this.memory.send('')
      const effect = this.memory.tables.effects.find((one) => one.id === id)
      const life = new Life({ diesAfter, freezesAfter: null })
      if (effect?.state === 'debt') await this.#turn(settling, life).settle(effect)
      this.memory.job(settling.id).state = 'succeeded'
      for (const one of this.memory.tables.effects)
        if (one.id === id && one.state === 'intended') one.state = 'debt'
    }
  }

  #meddle(step: Extract<Step, { readonly do: 'stranger' | 'leave' | 'vanish' }>): void {
    const { folder } = this
    if (step.do === 'stranger') {
      const template = this.#pick(this.templates, step.at)
      if (!template) return
      const { production, temp, old } = templateNames(template)
      const name = [production, temp, old][step.role % 3] ?? ''
      const place = step.elsewhere ? '/elsewhere' : folderName
      const owner = step.role > 2 ? ownerOfImage({ imageId: 'image-1', installation: 'there' }) : {}
      if (!folder.named(place, name)) folder.put({ name, folder: place, owner, complete: true })
      return
    }
    const things = [...folder.things.values()].filter(
      ({ ref }) => folder.isStranger(ref) === (step.do === 'leave'),
    )
    const thing = this.#pick(things, step.at)
    if (!thing) return
    // What a person takes away is not the product's fault.
    if (step.do === 'vanish') this.resolved.clear()
    folder.remove(thing.ref)
  }

  #ready(): MemoryJob[] {
    return this.memory.tables.jobs.filter(({ state, templateId }) => state === 'ready' && templateId !== '')
  }

  #pick<One>(from: readonly One[], at: number): One | undefined {
    return from[at % Math.max(1, from.length)]
  }

  #throwDice(): boolean {
    this.#dice = (Math.imul(this.#dice, 1_103_515_245) + 12_345) & 0x7fffffff
    return (this.#dice >> 8) % 3 !== 0
  }
}
