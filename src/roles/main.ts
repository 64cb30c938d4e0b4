import { type Config, readConfig } from '../config/config.ts'
import { takeSecrets } from '../config/take-secrets.mjs'
import { asDroverError, DroverError } from '../errors.ts'
import { printable } from '../print/printable.mjs'
import { Terminal } from '../print/terminal.ts'
import type { RunningRole } from '../process/health.ts'
import { createLog } from '../process/log.ts'
import { listenForStop, type StopRequest } from '../process/stop-request.ts'
import type { ChildMessage } from '../supervisor/child-message.ts'
import { readRoleWords } from './role-words.ts'

/** Loaded one by one: a worker starts without the API's code, and the other way round. */
const roles: Readonly<Record<string, () => Promise<(config: Config) => Promise<RunningRole>>>> = {
  api: async () => (await import('./api.ts')).runApi,
  worker: async () => (await import('./worker.ts')).runWorker,
  conductor: async () => (await import('./conductor.ts')).runConductor,
  lab: async () => (await import('./lab.ts')).runLab,
}

const usage = `drover <role>

  up         everything on this machine, with an embedded Postgres unless DATABASE_URL is set (npm start)
  api        the HTTP API, the console and Bull Board
  worker     does the jobs; start as many as you like, on any machine
  conductor  rings the bell, ends lost leases; one works, the others stand by
  lab        a simulated data centre to try things out on, behind HTTP of its own
  migrate    brings the database to this version, then ends
  rekey      seals everything with DROVER_SECRET_KEY instead of DROVER_SECRET_KEYS_OLD, then ends;
             --lost-key gives up what a key that is gone has sealed; up knows it too, and --no-rekey, which
             starts with old keys and seals nothing anew
  repair-seals  takes seals and statements away that somebody added without the key, as the database's owner;
             --head <line or file> is the newest head that was noted elsewhere, --without-head says there is none;
             up does it before it starts the roles: --repair-seals with the same words, as its last option
`

/** How long a role may take to close after its own drain limit, before the process ends anyway. */
const closingMs = 10_000
/** A start that hangs (a database that does not answer) must not hold up a stop. */
const startingMs = 3_000

/** Runs what the command line asks for, in the environment that was given, and ends the process with its exit code. */
export const main = async (args: readonly string[], given = takeSecrets()): Promise<void> => {
  const [command = 'help'] = args
  try {
    process.exit(await run(command, args.slice(1), given))
  } catch (thrown) {
    const error = asDroverError(thrown)
    const text = `${error.message} ${error.remedy}`
    // A mistake of the person who starts us is one line; a defect of ours keeps its stack.
    const terminal = new Terminal(process.stderr)
    terminal.line(`drover ${command}: ${text}`)
    if (error.class === 'bug' && thrown instanceof Error) terminal.lines(thrown.stack ?? '')
    await tellSupervisor({ type: 'failed', class: error.class, text })
    process.exit(1)
  }
}

const run = async (command: string, more: readonly string[], given: NodeJS.ProcessEnv): Promise<number> => {
  const words = readRoleWords(command, more)
  if (['help', '--help', '-h'].includes(command) || words.help) {
    new Terminal(process.stdout).lines(usage)
    return 0
  }
  const role = Object.hasOwn(roles, command) ? roles[command] : undefined
  const misspelt =
    role || ['up', 'migrate', 'rekey', 'repair-seals'].includes(command)
      ? words.unknown &&
        `drover ${command}: it does not know "${printable(words.unknown)}". Nothing was started.`
      : `drover: there is no "${printable(command)}".`
  if (misspelt) {
    new Terminal(process.stderr).lines(`${misspelt}\n\n${usage}`)
    return 2
  }
  const config = readConfig(given)
  if (command === 'migrate') {
    return await migrate(config, needDatabase(config, command))
  }
  if (command === 'rekey') {
    const { runRekey } = await import('../sealing/prepare-seals.ts')
    return await runRekey(needDatabase(config, command), config, { lost: words.lostKey, say })
  }
  if (command === 'repair-seals') {
    const { runRepair } = await import('../sealing/prepare-seals.ts')
    return await runRepair(needDatabase(config, command), config, { args: more, say })
  }
  const stop = listenForStop()
  if (role) return await runRole({ name: command, load: role, config, stop })
  const { runUp } = await import('./up.ts')
  const { lostKey, noRekey, repairSeals } = words
  return await runUp({ config, env: given, stop, lostKey, noRekey, repairSeals })
}

const say = (text: string): void => {
  new Terminal(process.stdout).line(text)
}

const migrate = async (config: Config, url: string): Promise<number> => {
  const { prepareDatabase } = await import('../standalone/postgres/prepare-database.ts')
  const tell = (text: string) => new Terminal(process.stderr).line(`drover migrate: ${text}`)
  await prepareDatabase(config, { url, say: tell })
  const { prepareSeals } = await import('../sealing/prepare-seals.ts')
  await prepareSeals(url, config, tell)
  return 0
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

const needDatabase = (config: Config, command: string): string => {
  if (config.databaseUrl !== undefined) return config.databaseUrl
  throw new DroverError({
    code: 'config-missing',
    class: 'config',
    message: `\`drover ${command}\` needs DATABASE_URL.`,
    remedy: ['rekey', 'repair-seals'].includes(command)
      ? `Set it to the URL of the database's owner. With the embedded Postgres of npm start, that start does it: docs/production.md, "Keys" and "The chain of events does not hold".`
      : 'Set it to postgres://user:password@host/database, or run "drover up" for an embedded Postgres.',
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
