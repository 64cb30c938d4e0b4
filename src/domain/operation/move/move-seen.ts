/** What a platform is at, of a live move: the guest runs on the old host until the switch-over. */
export const movePhases = ['preparing', 'bulk-copy', 'iterative-copy', 'switch-over'] as const
export type MovePhase = (typeof movePhases)[number]

/** How a live move goes, as far as its platform tells. */
export interface MoveSeen {
  readonly phase: MovePhase | null
  /** Of the whole, 0 to 100. */
  readonly percent: number | null
  /** Of the guest's memory, sent so far; a page that the guest writes to is sent again. */
  readonly copiedBytes: number | null
  readonly totalBytes: number | null
  /** How often it went over the memory. */
  readonly iteration: number | null
  /** How far the guest is slowed down so that the copy gets done, in percent. */
  readonly throttlePercent: number | null
  /** False: the guest writes faster than can be copied, and the platform says so. */
  readonly converging: boolean | null
  /** False: it will end, one way or the other. */
  readonly abortable: boolean
}
