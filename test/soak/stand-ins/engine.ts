import { execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../../support/wait.ts'

const run = promisify(execFile)

/** A private podman: its own images, containers, networks and settings; nothing of the machine's is touched. */
export interface Engine {
  readonly cacheDir: string
  readonly env: NodeJS.ProcessEnv
  /** Where the Docker-compatible API listens. */
  readonly dockerHost: string
  podman(args: readonly string[], options?: { quiet?: boolean }): Promise<string>
  close(): Promise<void>
}

/** Kept between runs, outside the repository: base images cost half a minute to make. */
const cacheRoot = (): string =>
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'drover', 'containers')

/** Says what a person must know of a run on stand-ins. */
export const say = (text: string): void => void process.stdout.write(`containers: ${text}\n`)

/**
 * Starts the engine and its Docker-compatible API. Containers run under runc with cgroupfs and file events,
 * because there may be no systemd; limits are lowered to what an unprivileged outer container may set.
 */
export const startEngine = async (): Promise<Engine> => {
  const cacheDir = cacheRoot()
  const at = (...names: string[]) => join(cacheDir, ...names)
  await mkdir(cacheDir, { recursive: true })
  const unlock = await lock(at('in-use'))
  const env = await settings(cacheDir)
  const podman = async (args: readonly string[]): Promise<string> => {
    const { stdout } = await run('podman', [...args], { env, maxBuffer: 64 * 1024 * 1024 })
    return stdout.trim()
  }
  const socket = at('api.sock')
  await rm(socket, { force: true })
  const log = openSync(at('service.log'), 'w')
  const service = spawn('podman', ['system', 'service', '--time=0', `unix://${socket}`], {
    env,
    stdio: ['ignore', 'ignore', log],
  })
  closeSync(log)
  const ended = new Promise<void>((resolve) => service.once('close', () => resolve()))
  const dockerHost = `unix://${socket}`
  await until(() => run('podman', ['--url', dockerHost, 'version'], { env }).then(() => true), {
    what: 'the container engine to answer',
    withinMs: 30_000,
    everyMs: 100,
  })
  const close = async () => {
    service.kill('SIGTERM')
    await ended
    await unlock()
  }
  return { cacheDir, env, dockerHost, podman, close }
}

/** The first storage driver that works: overlay, or plain copies where an overlay cannot be mounted. */
const settings = async (cacheDir: string): Promise<NodeJS.ProcessEnv> => {
  const problems: unknown[] = []
  for (const driver of ['overlay', 'vfs']) {
    const env = await settingsFor(cacheDir, driver)
    const works = await run('podman', ['info'], { env }).then(
      () => true,
      (error: unknown) => void problems.push(error),
    )
    if (works) return env
  }
  throw new AggregateError(problems, `podman does not start here: ${problems.map(String).join('\n')}`)
}

const settingsFor = async (cacheDir: string, driver: string): Promise<NodeJS.ProcessEnv> => {
  const dir = join(cacheDir, driver)
  const at = (name: string) => join(dir, name)
  await mkdir(at('networks'), { recursive: true })
  await writeFile(
    at('storage.conf'),
    `[storage]\ndriver = "${driver}"\ngraphroot = "${at('storage')}"\nrunroot = "${at('run')}"\n`,
  )
  await writeFile(
    at('containers.conf'),
    `[containers]
default_ulimits = ["nofile=1024:1024","nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "${at('tmp')}"
[network]
network_backend = "netavark"
network_config_dir = "${at('networks')}"
`,
  )
  return {
    ...process.env,
    CONTAINERS_CONF: at('containers.conf'),
    CONTAINERS_STORAGE_CONF: at('storage.conf'),
    // podman runs health checks by systemd timers; here the test does it, see HealthChecks.
    DISABLE_HC_SYSTEMD: 'true',
  }
}

/** One run at a time: two would remove each other's containers. A lock whose owner is gone is taken over. */
const lock = async (path: string): Promise<() => Promise<void>> => {
  const owner = Number(await readFile(path, 'utf8').catch(() => '0'))
  if (owner > 0 && alive(owner)) throw new Error(`Process ${owner} is running the container test already.`)
  await rm(path, { force: true })
  await writeFile(path, String(process.pid), { flag: 'wx' })
  return () => rm(path, { force: true })
}

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
