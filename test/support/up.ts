import { join } from 'node:path'
import { inject } from 'vitest'
import { endProcessesOf } from './owned-processes.ts'
import { startProcess, type TestProcess } from './processes.ts'
import { tempDir } from './temp.ts'

export const startMs = 120_000
export const stopMs = 120_000

/** Where an installation of a test's own keeps everything. What still runs in it ends with the test. */
export const freshDataDir = async (): Promise<string> => {
  const dir = join(await tempDir('up'), 'data')
  endProcessesOf(dir)
  return dir
}

type Start = (dataDir: string, env?: NodeJS.ProcessEnv, args?: readonly string[]) => Promise<TestProcess>

const startWith =
  (program: () => readonly string[]): Start =>
  (dataDir, env = {}, args = []) =>
    startProcess({
      command: process.execPath,
      args: [...program(), ...args],
      env: {
        ...{ DROVER_DATA_DIR: dataDir, HOME: dataDir, DROVER_PORT: '0', DROVER_WORKERS: '1' },
        ...env,
      },
    })

/** What `npm start` runs, as a person runs it: where Node reads no TypeScript, each role is translated at its start. */
export const npmStart = startWith(() => ['src/roles/start.mjs'])

/** The same from the roles that are translated once for the whole run: ten seconds of a processor less. */
export const startUp = startWith(() => [inject('roles'), 'up'])

export const addressOf = async (up: TestProcess): Promise<string> => {
  const [, address = ''] = await up.line(/Console +(http:\S+)/, { withinMs: startMs })
  return address
}
