/** The phases of a live move: the guest runs on the old host until the switch-over. */
export const movePhases = ['preparing', 'bulk-copy', 'iterative-copy', 'switch-over'] as const
export type MovePhase = (typeof movePhases)[number]

/** The progress of a live move, as far as its platform tells. */
export interface MoveSeen {
  readonly phase: MovePhase | null
  /** Of the whole, 0 to 100. */
  readonly percent: number | null
  /** Guest memory sent so far; a page that the guest changes is sent again. */
  readonly copiedBytes: number | null
  readonly totalBytes: number | null
  /** How many passes over the memory were made. */
  readonly iteration: number | null
  /** How much the guest is slowed down for the copy to finish, in percent. */
  readonly throttlePercent: number | null
  /** False: the guest writes faster than the copy, as the platform reports. */
  readonly converging: boolean | null
  /** False: the move can no longer be aborted. */
  readonly abortable: boolean
}
