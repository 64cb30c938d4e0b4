import type { Call } from '../../../src/platforms/ports/call.ts'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import type { Found, TaskHandle, TaskTrace } from '../../../src/platforms/ports/task.ts'
import type { TemplatesPort } from '../../../src/platforms/ports/templates.ts'
import { Dead, type Life } from '../operation/life.ts'
import { type FolderTask, type ImaginedFolder, problem } from './imagined-folder.ts'

/** A folder as one process reaches it: it may die at every line, and freeze where nothing is on the wire. */
export const folderPort = (folder: ImaginedFolder, life: Life): TemplatesPort => {
  const answer = () => {
    if (!folder.losesAnswer) return
    folder.losesAnswer = false
    throw problem('platform-timeout', 'unknown')
  }
  const look = async <Seen>(what: string, seen: () => Seen): Promise<Seen> => {
    await life.rest(`before ${what}`)
    if (folder.trouble.has('away')) throw problem('platform-unreachable', 'unknown')
    const found = seen()
    await life.rest(`after ${what}`)
    return found
  }
  const handle = (task: FolderTask, byMachine = false): TaskHandle => ({
    id: task.id,
    ...(byMachine ? { byMachine } : {}),
    status: () =>
      look('status', () => {
        const { id, state, error } = task
        if (folder.patience()) folder.advance(task)
        return { id, state, error, percent: null, result: null }
      }),
    wait: async () => {
      await life.rest('before wait')
      if (folder.trouble.has('away')) throw problem('platform-unreachable', 'unknown')
      if (folder.patience()) folder.advance(task)
      if (task.state === 'running') throw problem('platform-timeout', 'unknown')
      if (task.error) throw task.error
      await life.rest('after wait')
      return null
    },
  })
  const act = async (what: string, { name }: Call, ref: string, to: string | null): Promise<TaskHandle> => {
    // Dead it may be here, but not frozen: nobody can fence what is on the wire already.
    life.pass(`before ${what}`)
    if (folder.trouble.has('away')) throw problem('platform-unreachable', 'unknown')
    const task = folder.begin({ name, ref, to })
    await life.rest(`after ${what}`)
    answer()
    return handle(task)
  }
  const find = ({ taskId, name, machine, verb }: TaskTrace): Found<TaskHandle> => {
    const exact = folder.tasks.findLast((task) =>
      taskId !== undefined ? task.id === taskId : folder.remembersNames && task.name === name,
    )
    if (exact) return { found: true, value: handle(exact) }
    if (folder.remembersNames || taskId !== undefined) return { found: false }
    const isNear = (task: FolderTask) => task.ref === machine && task.verb === verb
    const near = folder.tasks.find((task) => task.state === 'running' && isNear(task))
    return near ? { found: true, value: handle(near, true) } : { found: false }
  }
  return {
    imageFormats: ['raw'],
    findTask: (_call, trace) => look('findTask', () => find(trace)),
    templates: (_call, name) => look('templates', () => folder.listed(name)),
    template: (_call, ref) =>
      look('template', () => {
        const thing = folder.things.get(ref)
        return thing ? { found: true as const, value: { ...thing } } : { found: false as const }
      }),
    importImage: async (call, image, onProgress) => {
      life.pass('before importImage')
      if (folder.trouble.has('away')) throw problem('platform-unreachable', 'unknown')
      const thing = folder.beginImport(call.name, image)
      try {
        await life.rest('in importImage')
        onProgress({ done: 1, total: 1 })
        if (folder.trouble.has('busy')) throw problem('platform-busy', 'refused')
        thing.complete = true
        folder.onChange()
        await life.rest('after importImage')
        answer()
        return thing.ref
      } catch (error) {
        // A process that was killed cleans nothing up.
        if (!(error instanceof Dead) && !thing.complete) folder.remove(thing.ref)
        throw error
      }
    },
    markTemplate: () => Promise.reject(problem('platform-refused', 'refused')),
    markMachine: () => Promise.reject(problem('platform-refused', 'refused')),
    renameTemplate: (call, ref, to) => act('renameTemplate', call, ref, to),
    destroyTemplate: (call, ref) => act('destroyTemplate', call, ref, null),
  }
}

export const folderPlatform = (folder: ImaginedFolder, life: Life): Platform => ({
  kind: 'imagined',
  capabilities: new Set(['templates', 'import-image', 'ownership-tags']),
  ports: { templates: folderPort(folder, life) },
  probe: () => Promise.reject(problem('platform-refused', 'refused')),
  close: () => Promise.resolve(),
})
