import { join } from 'node:path'
import type { DatabaseUrls } from '../config/database-urls.ts'
import { keepLabPort, type LabHome, labEnvironment, labUrl } from '../standalone/lab-home.ts'
import { ChildRole, type RoleName } from './child-role.ts'

export interface FleetOptions {
  readonly dataDir: string
  readonly workers: number
  readonly drainMs: number
  readonly env: NodeJS.ProcessEnv
  /** Each role gets its own, and none of the others. */
  readonly urls: DatabaseUrls
  /** Without it there is no lab. */
  readonly lab: LabHome | undefined
  readonly say: (text: string) => void
  readonly onLost: (why: string) => void
}

/** After the drain limit a role gets this long to close its connections before it is killed. */
const closingMs = 3_000

/** Where the lab answers, or why there is none. */
export type LabStart = { readonly url: string } | { readonly why: string }

/** The processes of one machine: the API, the conductor, the workers, and the lab where there is one. */
export class FleetOfRoles {
  readonly #options: FleetOptions
  readonly #api: ChildRole
  readonly #conductor: ChildRole
  readonly #workers: readonly ChildRole[]
  readonly #lab: ChildRole | undefined
  #labIs: (how: LabStart) => void = () => {}
  /** Resolves when the lab runs, or with why there will be none. */
  readonly lab = new Promise<LabStart>((resolve) => {
    this.#labIs = resolve
  })

  constructor(options: FleetOptions) {
    this.#options = options
    this.#api = this.#role('api', 'api')
    this.#conductor = this.#role('conductor', 'conductor')
    this.#workers = Array.from({ length: options.workers }, (_, at) =>
      this.#role(`worker-${at + 1}`, 'worker'),
    )
    this.#lab = options.lab && this.#labRole(options.lab)
  }

  /** Resolves with the API's port when every role runs. The lab is not waited for: nothing depends on it. */
  async start(): Promise<number> {
    void this.#lab?.start()
    const [port = 0] = await Promise.all(this.#vital().map((role) => role.start()))
    return port
  }

  /** Workers first, so that what they drain can still be seen; then who feeds, shows and serves them. */
  async stop(): Promise<{ killed: boolean }> {
    const waitLimitMs = this.#options.drainMs + closingMs
    await Promise.all(this.#workers.map((worker) => worker.stop(waitLimitMs)))
    const others = [this.#conductor, this.#api, ...(this.#lab ? [this.#lab] : [])]
    await Promise.all(others.map((role) => role.stop(waitLimitMs)))
    return { killed: this.#all().some((role) => role.killed) }
  }

  killNow(): void {
    for (const role of this.#all()) role.killNow()
  }

  #vital(): readonly ChildRole[] {
    return [this.#api, this.#conductor, ...this.#workers]
  }

  #all(): readonly ChildRole[] {
    return this.#lab ? [...this.#vital(), this.#lab] : this.#vital()
  }

  #envOf(role: RoleName): NodeJS.ProcessEnv {
    const { env, urls } = this.#options
    return { ...env, DATABASE_URL: urls[role] }
  }

  #role(name: string, role: RoleName): ChildRole {
    const { dataDir, say, onLost } = this.#options
    return new ChildRole({
      name,
      role,
      env: () => this.#envOf(role),
      logFile: join(dataDir, 'logs', `${name}.log`),
      say,
      onLost: (lost, why) => onLost(why.startsWith(lost) ? why : `${lost}: ${why}`),
    })
  }

  /** A lab that is lost takes nobody along. */
  #labRole(lab: LabHome): ChildRole {
    const { dataDir, say } = this.#options
    let home = lab
    let ran = false
    return new ChildRole({
      name: 'lab',
      role: 'lab',
      env: () => labEnvironment(this.#envOf('lab'), home),
      logFile: join(dataDir, 'logs', 'lab.log'),
      say,
      onRunning: (port) => {
        ran = true
        home = keepLabPort(home, port)
        this.#labIs({ url: labUrl(home, port) })
      },
      onLost: (_lost, why) => {
        this.#labIs({ why })
        if (ran) say(`The lab is lost: ${why}`)
      },
    })
  }
}
