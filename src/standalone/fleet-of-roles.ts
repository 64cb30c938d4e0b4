import { join } from 'node:path'
import { ChildRole } from './child-role.ts'

export interface FleetOptions {
  readonly dataDir: string
  readonly workers: number
  readonly drainMs: number
  readonly env: NodeJS.ProcessEnv
  readonly say: (text: string) => void
  readonly onLost: (why: string) => void
}

/** After the drain limit a role gets this long to close its connections before it is killed. */
const closingMs = 3_000

/** The processes of one machine: the API, the conductor and the workers. */
export class FleetOfRoles {
  readonly #options: FleetOptions
  readonly #api: ChildRole
  readonly #conductor: ChildRole
  readonly #workers: readonly ChildRole[]

  constructor(options: FleetOptions) {
    this.#options = options
    this.#api = this.#role('api', 'api')
    this.#conductor = this.#role('conductor', 'conductor')
    this.#workers = Array.from({ length: options.workers }, (_, at) =>
      this.#role(`worker-${at + 1}`, 'worker'),
    )
  }

  /** Resolves with the API's port when every role runs. */
  async start(): Promise<number> {
    const [port = 0] = await Promise.all(this.#all().map((role) => role.start()))
    return port
  }

  /** Workers first, so that what they drain can still be seen; then who feeds and shows them. */
  async stop(): Promise<{ killed: boolean }> {
    const patienceMs = this.#options.drainMs + closingMs
    await Promise.all(this.#workers.map((worker) => worker.stop(patienceMs)))
    await Promise.all([this.#conductor.stop(patienceMs), this.#api.stop(patienceMs)])
    return { killed: this.#all().some((role) => role.killed) }
  }

  killNow(): void {
    for (const role of this.#all()) role.killNow()
  }

  #all(): readonly ChildRole[] {
    return [this.#api, this.#conductor, ...this.#workers]
  }

  #role(name: string, role: 'api' | 'conductor' | 'worker'): ChildRole {
    const { dataDir, env, say, onLost } = this.#options
    return new ChildRole({
      name,
      role,
      env,
      logFile: join(dataDir, 'logs', `${name}.log`),
      say,
      onLost: (lost, why) => onLost(why.startsWith(lost) ? why : `${lost}: ${why}`),
    })
  }
}
