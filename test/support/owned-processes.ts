import { readdirSync, readFileSync } from 'node:fs'
import { atEnd } from './cleanup.ts'
import { until } from './wait.ts'

/** Every process that was started for a data directory, in whatever process group: by command line or environment. */
export const processesOf = (dataDir: string): { pid: number; command: string }[] =>
  readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid)
    .flatMap((name) => {
      const command = readText(`/proc/${name}/cmdline`)
      const environment = readText(`/proc/${name}/environ`)
      const isOurs = command.includes(dataDir) || environment.includes(`DROVER_DATA_DIR=${dataDir}\0`)
      return isOurs ? [{ pid: Number(name), command: command.replaceAll('\0', ' ').trim() }] : []
    })

const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** At the end: nothing that a killed supervisor left behind survives its test. */
export const endProcessesOf = (dataDir: string): void =>
  atEnd(async () => {
    for (const { pid } of processesOf(dataDir)) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Gone in the meantime.
      }
    }
    await until(() => processesOf(dataDir).length === 0, { what: `the processes of ${dataDir} to be gone` })
  })
