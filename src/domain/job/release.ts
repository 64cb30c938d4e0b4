/**
 * Why a running job goes back to the line without having failed: the reason of the event `job.released`, whose
 * `detail.message` says it as a sentence. docs/jobs.md has what each means.
 */
export const releaseReasons = ['worker-drains', 'lane-paused', 'awaiting-slot', 'awaiting-place'] as const

export type ReleaseReason = (typeof releaseReasons)[number]
