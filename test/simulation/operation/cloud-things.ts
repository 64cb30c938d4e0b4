import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'

export type Guest = 'obeys' | 'hangs' | 'deaf'
export type Verb =
  | 'start'
  | 'shutdown'
  | 'stop'
  | 'restart'
  | 'move'
  | 'save'
  | 'wake'
  | 'snapshot'
  | 'revert'
  | 'remove'

/** A call that changes something. */
export interface CloudAsk {
  readonly name: string
  readonly ref: string
  readonly kind: Verb
  /** Where it is to go, of a move and a wake. */
  readonly host?: string
  readonly force?: boolean
  /** A saved state, a snapshot, or the name of one. */
  readonly what?: string
}

export interface CloudTask extends CloudAsk {
  readonly id: string
  readonly begunAt: number
  endedAt: number | null
  state: 'running' | 'succeeded' | 'failed'
  error: PlatformError | null
  result: string | null
  /** Of a move: where in `moveSteps` it is. */
  step: number
  aborting: boolean
  /** Of a move that failed: its machine had gone over before. */
  wentOver: boolean
}

export interface CloudMachine {
  power: 'on' | 'off'
  host: string
  /** Where it runs: on one host, or on none. */
  runs: ReadonlySet<string>
  /** Of this run of it. */
  boot: string
  readonly guest: Guest
  /** The run that was asked to shut itself down, and has not yet. */
  goesDown: string | null
  /** Nobody starts it. */
  full: boolean
  /** It writes faster than is copied: without force its moves never get done. */
  stalls: boolean
  /** Its host took it down, and it has not run since. */
  crashed: boolean
  /** Changes with every run from the disks: memory that was saved before fits them no more. */
  disks: number
  readonly snapshots: Map<string, string>
}

export interface CloudMemory {
  readonly machine: string
  readonly boot: string
  readonly disks: number
}

/** The guest runs where it was up to the last step, which nobody can abort. */
export const moveSteps = ['preparing', 'bulk-copy', 'iterative-copy', 'switch-over'] as const
export const copying = moveSteps.indexOf('iterative-copy')
export const switching = moveSteps.indexOf('switch-over')

export const problem = (
  code: ConstructorParameters<typeof PlatformError>[0]['code'],
  failure: 'refused' | 'unknown' | 'absent',
): PlatformError =>
  new PlatformError({ code, failure, message: `It answers ${code}.`, remedy: 'Look at the platform.' })

export const powerNeeded: Readonly<Partial<Record<Verb, 'on' | 'off'>>> = {
  start: 'off',
  shutdown: 'on',
  stop: 'on',
  restart: 'on',
  move: 'on',
  save: 'on',
  wake: 'off',
}
