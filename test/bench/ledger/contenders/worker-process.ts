import { fileURLToPath } from 'node:url'
import { firstMessage, type StartedProcess, startProcess } from '../../processes.ts'

/** Starts one of the worker programs beside this file and waits until it says that it takes jobs. */
export const startWorkerProgram = async (
  program: string,
  settings: Readonly<Record<string, unknown>>,
): Promise<StartedProcess> => {
  const file = fileURLToPath(new URL(`./${program}.ts`, import.meta.url))
  const started = startProcess({
    title: program,
    command: process.execPath,
    args: ['--import', 'tsx', file, JSON.stringify(settings)],
    ipc: true,
  })
  await firstMessage(program, started)
  return started
}

/** For the worker programs: what they were started with. */
export const programSettings = <Settings>(): Settings => JSON.parse(process.argv[2] ?? '{}') as Settings

/** For the worker programs: says that jobs are taken, and ends with the parent. */
export const sayReady = (): void => {
  process.send?.('ready')
  process.on('disconnect', () => process.exit(1))
}
