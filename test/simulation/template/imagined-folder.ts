import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import type { TaskStatus, TaskVerb } from '../../../src/platforms/ports/task.ts'
import type { NewImage, TemplateFacts } from '../../../src/platforms/ports/templates.ts'

/** An object of the platform. */
export interface Thing {
  readonly ref: string
  name: string
  readonly folder: string
  readonly owner: Readonly<Record<string, string>>
  complete: boolean
  /** The call that brings it in: an import goes on under the same name. */
  readonly importedBy: string | null
}

interface Task {
  readonly id: string
  readonly name: string
  readonly ref: string
  readonly verb: TaskVerb
  /** The new name; null: it is removed. */
  readonly to: string | null
  state: TaskStatus['state']
  error: PlatformError | null
}

export const problem = (
  code: PlatformError['code'],
  failure: PlatformError['failure'],
  message: string = code,
): PlatformError => new PlatformError({ code: code as 'platform-refused', failure, message, remedy: 'None.' })

export type Trouble = 'away' | 'busy' | 'keeps' | 'refuses-production' | 'breaks-renames'

/**
 * What a platform has in its folders. What is accepted comes about later, like a person's own changes at any moment. It
 * says of each change whether a law is broken by it.
 */
export class ImaginedFolder {
  readonly things = new Map<string, Thing>()
  readonly tasks: Task[] = []
  readonly trouble = new Set<Trouble>()
  readonly broken: string[] = []
  /** Like the lab: a call by the same name is the same task. Others find a task by its object alone. */
  readonly remembersNames: boolean
  /** The next call that changes something is accepted, and its answer lost. */
  losesAnswer = false
  /** Whether a task goes on while somebody looks at it. */
  patience: () => boolean = () => true
  onChange: () => void = () => undefined
  uploads = 0
  #count = 0

  constructor(remembersNames: boolean) {
    this.remembersNames = remembersNames
  }

  put(thing: Omit<Thing, 'ref' | 'importedBy'> & { readonly importedBy?: string | null }): Thing {
    this.#count += 1
    const put = { importedBy: null, ...thing, ref: `obj-${this.#count}` }
    this.things.set(put.ref, put)
    this.onChange()
    return put
  }

  remove(ref: string): void {
    this.things.delete(ref)
    this.onChange()
  }

  named(folder: string, name: string): Thing | undefined {
    return [...this.things.values()].find((thing) => thing.folder === folder && thing.name === name)
  }

  listed(folder: string): TemplateFacts[] {
    return [...this.things.values()].filter((thing) => thing.folder === folder).map(factsOf)
  }

  isStranger(ref: string): boolean {
    const thing = this.things.get(ref)
    return thing !== undefined && thing.owner['drover.install'] !== 'here'
  }

  begin(asked: { name: string; ref: string; to: string | null }): Task {
    const { name, ref, to } = asked
    const known = this.tasks.find((task) => this.remembersNames && task.name === name)
    if (known) return known
    const thing = this.things.get(ref)
    if (this.isStranger(ref)) this.broken.push(`${name} acts on the stranger ${ref}`)
    if (!thing) throw problem('platform-absent', 'absent')
    if (this.trouble.has('busy') || this.tasks.some((task) => task.ref === ref && task.state === 'running'))
      throw problem('platform-busy', 'refused')
    this.#admit(thing, to)
    if (to === null && thing.complete && !thing.name.startsWith('drv-img-'))
      this.broken.push(`${name} destroys the whole object ${ref} under the name ${thing.name}`)
    const task: Task = {
      ...{ id: `task-${this.tasks.length + 1}`, name, ref, to, verb: to === null ? 'destroy' : 'rename' },
      ...{ state: 'running', error: null },
    }
    this.tasks.push(task)
    return task
  }

  /** A person or somebody else's task may have come between. */
  advance(task: Task): void {
    if (task.state !== 'running') return
    const thing = this.things.get(task.ref)
    try {
      if (!thing) throw problem('platform-absent', 'absent')
      this.#admit(thing, task.to)
      if (this.trouble.has('breaks-renames') && task.to !== null) throw problem('platform-fault', 'unknown')
      task.state = 'succeeded'
      if (task.to === null) this.things.delete(task.ref)
      else thing.name = task.to
      this.onChange()
    } catch (error) {
      task.state = 'failed'
      task.error = error as PlatformError
    }
  }

  advanceAll(): void {
    for (const task of this.tasks) this.advance(task)
  }

  beginImport(name: string, { templateName, folder, owner }: NewImage): Thing {
    const there = this.named(folder, templateName)
    if (there && (there.importedBy !== name || there.complete))
      throw problem('platform-name-taken', 'refused', `"${templateName}" is taken by ${there.ref}`)
    if (there) return there
    this.uploads += 1
    return this.put({ name: templateName, folder, owner, complete: false, importedBy: name })
  }

  #admit(thing: Thing, to: string | null): void {
    if (to === null) {
      if (this.trouble.has('keeps')) throw problem('platform-refused', 'refused', 'a clone is under way')
      return
    }
    const taken = this.named(thing.folder, to)
    if (taken && taken !== thing) throw problem('platform-name-taken', 'refused', `"${to}" is taken`)
    if (this.trouble.has('refuses-production') && !to.startsWith('drv-'))
      throw problem('platform-refused', 'refused', 'no permission')
  }
}

const factsOf = ({ ref, name, folder, owner, complete }: Thing): TemplateFacts => ({
  ...{ ref, name, folder, owner, complete },
})

export type { Task as FolderTask }
