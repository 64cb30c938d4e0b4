import type { ScriptPlacement } from '../../domain/migration/batch/merge-placement.ts'

/** One instance for a script. */
export interface ScriptAsk {
  /** What the script sees as `instance`: JSON text. */
  readonly instance: string
  readonly disks: readonly ScriptDisk[]
  readonly nics: readonly ScriptNic[]
}

export interface ScriptDisk {
  readonly key: string
  readonly label: string
  readonly name: string
  /** Why this disk can never be copied, as the rest of a sentence; null: it can be copied. */
  readonly neverCopied: string | null
}

export interface ScriptNic {
  readonly mac: string
  readonly key: string
  readonly label: string
}

/** Why a script did not place an instance. It belongs to this instance alone. */
export interface ScriptProblem {
  readonly message: string
  /** Of the script; null: not known. */
  readonly line: number | null
  readonly column: number | null
}

export type ScriptAnswer =
  | { readonly ok: true; readonly placement: ScriptPlacement; readonly log: readonly string[] }
  | { readonly ok: false; readonly problem: ScriptProblem; readonly log: readonly string[] }

/** Work for a thread: one script, one batch, some instances. */
export interface ScriptTask {
  readonly script: string
  /** What the script sees as `batch`: JSON text. */
  readonly batch: string
  readonly asks: readonly ScriptAsk[]
  /** Where the thread is: the index of the current instance plus one; 0: not begun. */
  readonly at: SharedArrayBuffer
}
