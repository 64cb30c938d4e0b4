import type { Call } from '../../../src/platforms/ports/call.ts'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import type { Found, TaskHandle, TaskTrace } from '../../../src/platforms/ports/task.ts'
import type { NewImage, TemplatesPort } from '../../../src/platforms/ports/templates.ts'
import { Dead, type Life } from '../operation/life.ts'
import { type FolderTask, type ImaginedFolder, problem } from './imagined-folder.ts'

/** A folder as one process reaches it: it may die at every line, and freeze where nothing is on the wire. */
class Reached {
  readonly #folder: ImaginedFolder
  readonly #life: Life

  constructor(folder: ImaginedFolder, life: Life) {
    this.#folder = folder
    this.#life = life
  }

  async look<Seen>(what: string, seen: () => Seen): Promise<Seen> {
    await this.#life.rest(`before ${what}`)
    this.#require()
    const found = seen()
    await this.#life.rest(`after ${what}`)
    return found
  }

  async act(what: string, { name }: Call, ref: string, to: string | null): Promise<TaskHandle> {
    // Dead it may be here, but not frozen: nobody can fence what is on the wire already.
    this.#life.pass(`before ${what}`)
    this.#require()
    const task = this.#folder.begin({ name, ref, to })
    await this.#life.rest(`after ${what}`)
    this.#answer()
    return this.#handle(task)
  }

  find({ taskId, name, machine, verb }: TaskTrace): Found<TaskHandle> {
    const { tasks, remembersNames } = this.#folder
    const exact = tasks.findLast((task) =>
      taskId !== undefined ? task.id === taskId : remembersNames && task.name === name,
    )
    if (exact) return { found: true, value: this.#handle(exact) }
    if (remembersNames || taskId !== undefined) return { found: false }
    const isNear = (task: FolderTask) => task.ref === machine && task.verb === verb
    const near = tasks.find((task) => task.state === 'running' && isNear(task))
    return near ? { found: true, value: { ...this.#handle(near), byMachine: true } } : { found: false }
  }

  async bringIn({ name }: Call, image: NewImage): Promise<string> {
    this.#life.pass('before importImage')
    this.#require()
    const thing = this.#folder.beginImport(name, image)
    try {
      await this.#life.rest('in importImage')
      if (this.#folder.trouble.has('busy')) throw problem('platform-busy', 'refused')
      thing.complete = true
      this.#folder.onChange()
      await this.#life.rest('after importImage')
      this.#answer()
      return thing.ref
    } catch (error) {
      // A process that was killed cleans nothing up.
      if (!(error instanceof Dead) && !thing.complete) this.#folder.remove(thing.ref)
      throw error
    }
  }

  #require(): void {
    if (this.#folder.trouble.has('away')) throw problem('platform-unreachable', 'unknown')
  }

  #answer(): void {
    if (!this.#folder.losesAnswer) return
    this.#folder.losesAnswer = false
    throw problem('platform-timeout', 'unknown')
  }

  #handle(task: FolderTask): TaskHandle {
    const goOn = () => {
      if (this.#folder.patience()) this.#folder.advance(task)
    }
    return {
      id: task.id,
      status: () =>
        this.look('status', () => {
          const { id, state, error } = task
          goOn()
          return { id, state, error, percent: null, result: null }
        }),
      wait: async () => {
        await this.#life.rest('before wait')
        this.#require()
        goOn()
        if (task.state === 'running') throw problem('platform-timeout', 'unknown')
        if (task.error) throw task.error
        await this.#life.rest('after wait')
        return null
      },
    }
  }
}

const folderPort = (folder: ImaginedFolder, life: Life): TemplatesPort => {
  const reached = new Reached(folder, life)
  const refuse = () => Promise.reject(problem('platform-refused', 'refused'))
  return {
    imageFormats: ['raw'],
    findTask: (_call, trace) => reached.look('findTask', () => reached.find(trace)),
    templates: (_call, name) => reached.look('templates', () => folder.listed(name)),
    template: (_call, ref) =>
      reached.look('template', () => {
        const thing = folder.things.get(ref)
        return thing ? { found: true as const, value: { ...thing } } : { found: false as const }
      }),
    importImage: (call, image) => reached.bringIn(call, image),
    markTemplate: refuse,
    markMachine: refuse,
    renameTemplate: (call, ref, to) => reached.act('renameTemplate', call, ref, to),
    destroyTemplate: (call, ref) => reached.act('destroyTemplate', call, ref, null),
  }
}

export const folderPlatform = (folder: ImaginedFolder, life: Life): Platform => ({
  kind: 'imagined',
  capabilities: new Set(['templates', 'import-image', 'ownership-tags']),
  ports: { templates: folderPort(folder, life) },
  probe: () => Promise.reject(problem('platform-refused', 'refused')),
  close: () => Promise.resolve(),
})
