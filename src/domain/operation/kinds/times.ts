import type { OperationKind } from './kinds.ts'

/** How long an operation may take and wait, unless the request says otherwise. */
export interface OperationTimes {
  /** From its start to its end. */
  readonly deadlineSeconds: number
  /** Until its turn comes. */
  readonly waitSeconds: number
}

const hour = 3_600
const short: OperationTimes = { deadlineSeconds: 600, waitSeconds: hour }
/** Memory or disks are written or sent. */
const long: OperationTimes = { deadlineSeconds: 2 * hour, waitSeconds: 6 * hour }

export const usualTimes: Readonly<Record<OperationKind, OperationTimes>> = {
  start: short,
  stop: short,
  restart: short,
  snapshot: long,
  restore: long,
  clone: { deadlineSeconds: 6 * hour, waitSeconds: 6 * hour },
  hibernate: long,
  wake: long,
  migrate: long,
  evict: long,
}

/** The bounds of a request: a shorter time could not be kept, and nobody remembers a longer one. */
export const timeBounds = {
  deadlineSeconds: { least: 5, most: 7 * 24 * hour },
  waitSeconds: { least: 1, most: 7 * 24 * hour },
} as const

/**
 * Bucket bounds for waits and runs of operations, in seconds: from an immediate answer to a full day. Few, because
 * each is a series for every kind and outcome.
 */
export const spanBounds = [
  0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400,
] as const
