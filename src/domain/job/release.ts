/**
 * Why a running job becomes ready again without a failure: the reason of the event `job.released`, whose
 * `detail.message` is the sentence. docs/jobs.md explains each.
 */
export const releaseReasons = ['worker-drains', 'lane-paused', 'awaiting-slot', 'awaiting-place'] as const

export type ReleaseReason = (typeof releaseReasons)[number]
