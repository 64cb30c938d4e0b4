import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { firstMessage, startProcess } from '../processes.ts'
import type { ReadingReport, ReadingTask } from './reading-program.ts'

const program = fileURLToPath(new URL('./reading-program.ts', import.meta.url))

type Answer =
  | { readonly type: 'done'; readonly report: ReadingReport }
  | { readonly type: 'failed'; readonly message: string }

export interface Reader {
  read(task: ReadingTask): Promise<ReadingReport>
  stop(): Promise<void>
}

/** A fresh process that does readings, one after the other. */
export const startReader = async (name: string, cpuProf: string | undefined): Promise<Reader> => {
  const started = startProcess({
    title: 'reader',
    command: process.execPath,
    args: [
      ...(cpuProf === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(cpuProf, name)}`]),
      ...['--import', 'tsx', program],
    ],
    ipc: true,
  })
  await firstMessage(started.title, started)
  const ask = (task: ReadingTask): Promise<Answer> =>
    new Promise<Answer>((resolve, reject) => {
      const died = () => reject(new Error(`The reader died.\n${started.output()}`))
      started.child.once('exit', died)
      started.child.once('message', (message) => {
        started.child.off('exit', died)
        resolve(message as Answer)
      })
      started.child.send(task)
    })
  return {
    read: async (task) => {
      const answer = await ask(task)
      if (answer.type === 'failed') throw new Error(`Reading (${task.way}) failed: ${answer.message}`)
      return answer.report
    },
    stop: started.stop,
  }
}
