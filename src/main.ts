import { migrateDb } from '../db/migrate.ts'
import { type Config, readConfig } from './config.ts'
import { asDroverError, DroverError } from './errors.ts'
import type { RunningRole } from './health.ts'
import { createLog } from './log.ts'
import type { ChildMessage } from './standalone/child-message.ts'
import { listenForStop, type StopRequest } from './stop-request.ts'

/** Loaded one by one: a worker starts without the API's code, and the other way round. */
const roles: Readonly<Record<string, () => Promise<(config: Config) => Promise<RunningRole>>>> = {
  api: async () => (await import('./api/serve.ts')).runApi,
  worker: async () => (await import('../workers/fleet.ts')).runWorker,
  conductor: async () => (await import('./ledger/run-conductor.ts')).runConductor,
  lab: async () => (await import('./lab/run-lab.ts')).runLab,
}

const usage = `drover <role>

  up         everything on this machine, with an embedded Postgres unless DATABASE_URL is set (npm start)
  api        the HTTP API, the console and Bull Board
  worker     does the jobs; start as many as you like, on any machine
  conductor  rings the bell, ends lost leases; one works, the others stand by
  lab        a simulated data centre to try things out on, behind HTTP of its own
  migrate    brings the database to this version, then ends
`

/** How long a role may take to close after its own drain limit, before the process ends anyway. */
const closingMs = 10_000
/** A start that hangs (a database that does not answer) must not hold up a stop. */
const startingMs = 3_000

/** Runs what the command line asks for, and ends the process with its exit code. */
export const main = async (args: readonly string[]): Promise<void> => {
  const [command = 'help'] = args
  try {
    process.exit(await run(command))
  } catch (thrown) {
    const error = asDroverError(thrown)
    const text = `${error.message} ${error.remedy}`
    // A mistake of the person who starts us is one line; a defect of ours keeps its stack.
    const stack = error.class === 'bug' && thrown instanceof Error ? `\n${thrown.stack}` : ''
    process.stderr.write(`drover ${command}: ${text}${stack}\n`)
    await tellSupervisor({ type: 'failed', class: error.class, text })
    process.exit(1)
  }
}

const run = async (command: string): Promise<number> => {
  if (command === 'help' || command === '--help' || command === '-h') {
    process.stdout.write(usage)
    return 0
  }
  const role = Object.hasOwn(roles, command) ? roles[command] : undefined
  if (!role && command !== 'up' && command !== 'migrate') {
    process.stderr.write(`drover: there is no "${command}".\n\n${usage}`)
    return 2
  }
  const config = readConfig(process.env)
  if (command === 'migrate') {
    await migrateDb(needDatabase(config, command))
    return 0
  }
  const stop = listenForStop()
  if (role) return await runRole({ name: command, load: role, config, stop })
  const { runUp } = await import('./standalone/up.ts')
  return await runUp({ config, env: process.env, stop })
}

const runRole = async (options: {
  name: string
  load: () => Promise<(config: Config) => Promise<RunningRole>>
  config: Config
  stop: StopRequest
}): Promise<number> => {
  const { name, config, stop } = options
  needDatabase(config, name)
  const log = createLog({ role: name, level: config.logLevel })
  process.on('uncaughtException', (error, origin) => {
    log.fatal({ err: error, origin }, 'an error that nobody handled; the process ends')
    process.exit(1)
  })
  const starting = options.load().then((start) => start(config))
  const started = await Promise.race([starting, stop.whenRequested.then(() => after(startingMs))])
  if (!started) return 0
  await tellSupervisor({ type: 'running', port: started.port })
  log.info({ port: started.port }, `${name} runs`)
  await stop.whenRequested
  log.info('stopping')
  const closed = started.stop().then(() => true)
  if (!(await Promise.race([closed, after(config.drainMs + closingMs)]))) {
    log.error('the role did not stop in time; the process ends anyway')
    return 1
  }
  log.info('stopped')
  return 0
}

const needDatabase = (config: Config, role: string): string => {
  if (config.databaseUrl !== undefined) return config.databaseUrl
  throw new DroverError({
    code: 'config-missing',
    class: 'config',
    message: `The ${role} needs DATABASE_URL.`,
    remedy: 'Set it to postgres://user:password@host/database, or run "drover up" for an embedded Postgres.',
    field: 'DATABASE_URL',
  })
}

/** Resolves with the message on its way, so that an exit right after does not lose it. */
const tellSupervisor = (message: ChildMessage): Promise<void> =>
  new Promise((resolve) => {
    if (process.send && process.connected) process.send(message, undefined, {}, () => resolve())
    else resolve()
  })

const after = (ms: number): Promise<undefined> =>
  new Promise((resolve) => {
    setTimeout(() => resolve(undefined), ms)
  })

if (process.argv[1] !== undefined && import.meta.filename === process.argv[1])
  await main(process.argv.slice(2))
