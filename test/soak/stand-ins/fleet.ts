import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { repositoryRoot } from '../../support/processes.ts'
import { until } from '../../support/wait.ts'
import type { Engine } from './engine.ts'

const run = promisify(execFile)

export interface FleetOptions {
  readonly engine: Engine
  readonly project: string
  /** What the compose file reads of the environment. */
  readonly settings: Readonly<Record<string, string>>
}

interface HealthState {
  readonly Status: string
}

/** The compose file, brought up and down by docker-compose on the engine's Docker-compatible API. */
export class Fleet {
  readonly #options: FleetOptions
  readonly #env: NodeJS.ProcessEnv

  constructor(options: FleetOptions) {
    this.#options = options
    this.#env = { ...options.engine.env, ...options.settings, DOCKER_HOST: options.engine.dockerHost }
  }

  /** By our compose file, unless another one is named. */
  async compose(
    args: readonly string[],
    { file = join(repositoryRoot, 'docker-compose.yml') }: { readonly file?: string } = {},
  ): Promise<string> {
    const all = ['--file', file, '--project-name', this.#options.project, ...args]
    try {
      const { stdout } = await run('docker-compose', all, { env: this.#env, maxBuffer: 64 * 1024 * 1024 })
      return stdout
    } catch (error) {
      const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string }
      throw new Error(`docker-compose ${args.join(' ')}:\n${stdout}${stderr}\n${await this.logs()}`)
    }
  }

  /** Names of the containers of one service, or of all; ended ones too when asked for. */
  async containers(service?: string, options?: { ended: boolean }): Promise<string[]> {
    const filters = [`label=com.docker.compose.project=${this.#options.project}`]
    if (service !== undefined) filters.push(`label=com.docker.compose.service=${service}`)
    const args = filters.flatMap((filter) => ['--filter', filter])
    if (options?.ended) args.push('--all')
    const names = await this.#options.engine.podman(['ps', '--format', '{{.Names}}', ...args])
    return names.split('\n').filter((name) => name !== '')
  }

  async inspect<Facts>(container: string): Promise<Facts> {
    const [facts] = JSON.parse(await this.#options.engine.podman(['inspect', container])) as [Facts]
    return facts
  }

  async health(container: string): Promise<string> {
    const { State } = await this.inspect<{ State: { Health?: HealthState; Healthcheck?: HealthState } }>(
      container,
    )
    return (State.Health ?? State.Healthcheck)?.Status ?? 'none'
  }

  /** The last lines of every container, for the message of a test that fails. */
  async logs(): Promise<string> {
    const names = await this.containers(undefined, { ended: true })
    const texts = names.map(async (name) => {
      const text = await run('podman', ['logs', '--tail=25', name], { env: this.#env }).catch(String)
      return `--- ${name}\n${typeof text === 'string' ? text : text.stdout + text.stderr}`
    })
    return (await Promise.all(texts)).join('\n')
  }

  /** Removes everything of this project: containers, networks, volumes. Images stay for the next run. */
  async down(): Promise<void> {
    await this.compose(['down', '--volumes', '--remove-orphans', '--timeout', '40'])
  }

  /** What of this project is still there. */
  async left(): Promise<string[]> {
    const list = (what: string) =>
      this.#options.engine.podman([what, 'ls', '--format', '{{.Name}}']).then((text) => text.split('\n'))
    const owned = (await Promise.all([list('network'), list('volume')])).flat()
    const prefix = `${this.#options.project}_`
    const containers = await this.containers(undefined, { ended: true })
    return [...containers, ...owned.filter((name) => name.startsWith(prefix))]
  }
}

/**
 * Runs the health checks of all running containers, round after round. A Docker engine does this itself and
 * podman has systemd's timers do it; where there is no systemd somebody else must, or every container would be
 * "starting" for ever and `depends_on: service_healthy` would never let anything start.
 */
export class HealthChecks {
  #stopped = false
  readonly #done: Promise<void>

  constructor(engine: Engine, fleet: Fleet) {
    this.#done = this.#rounds(engine, fleet)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  async #rounds(engine: Engine, fleet: Fleet): Promise<void> {
    while (!this.#stopped) {
      const round = fleet.containers().then(async (names) => {
        // One after another: eight Node processes at once would starve the fleet on two cores.
        for (const name of names) await engine.podman(['healthcheck', 'run', name]).catch(() => '')
        return true
      })
      await round.catch(() => undefined)
      const end = performance.now() + 1_000
      await until(() => this.#stopped || performance.now() > end, { what: 'the next round', everyMs: 100 })
    }
  }
}
