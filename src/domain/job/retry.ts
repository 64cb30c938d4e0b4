/**
 * What can end the trouble. `transient`: time. `environment`: the platform, in its own time. `conflict` and `config`:
 * a person. `permanent`: nothing. `bug`: a new version.
 */
export const errorClasses = ['transient', 'environment', 'conflict', 'config', 'permanent', 'bug'] as const
export type ErrorClass = (typeof errorClasses)[number]

/** How often, and how far apart, the jobs of one kind are tried again. */
export interface RetryPolicy {
  /** Charged by `transient` errors. */
  readonly transientMax: number
  /** Charged by `environment` errors: a platform that is down for a night must not use up a job. */
  readonly environmentMax: number
  /** Charged by `bug`: few, because the same code will most likely fail the same way. */
  readonly bugMax: number
  /** How often a worker may vanish during the job before the job itself is suspected. */
  readonly lostMax: number
  readonly baseMs: number
  readonly capMs: number
  readonly environmentBaseMs: number
  readonly environmentCapMs: number
  /** Whether a job waits, uncharged, for the password of its site. Not where the next job of the kind is due anyway. */
  readonly waitsForPassword: boolean
}

export const defaultRetryPolicy: RetryPolicy = {
  transientMax: 8,
  environmentMax: 100,
  bugMax: 3,
  lostMax: 5,
  baseMs: 1_000,
  capMs: 300_000,
  environmentBaseMs: 5_000,
  environmentCapMs: 900_000,
  waitsForPassword: true,
}

/** What has been charged to the job in this generation. */
export interface Budget {
  readonly attempt: number
  readonly environmentAttempt: number
}

export type RetryDecision =
  | { readonly retry: true; readonly delayMs: number; readonly charge: 'attempt' | 'environmentAttempt' }
  | { readonly retry: false; readonly charge: 'attempt' | 'environmentAttempt' | 'none' }

/**
 * Exponential with full jitter in the upper half: never less than half the step, so that a storm of equal
 * failures spreads out and a single one still waits. `random` is in [0, 1).
 */
export const backoffMs = (failures: number, baseMs: number, capMs: number, random: number): number => {
  const step = Math.min(capMs, baseMs * 2 ** Math.min(Math.max(failures, 1) - 1, 30))
  return Math.round(step / 2 + (step / 2) * random)
}

/** Whether a failure is retried, when, and which budget is charged. Pure: randomness is an argument. */
export const decideRetry = (
  errorClass: ErrorClass,
  budget: Budget,
  policy: RetryPolicy,
  random: number,
): RetryDecision => {
  switch (errorClass) {
    case 'conflict':
    case 'config':
    case 'permanent':
      return { retry: false, charge: 'none' }
    case 'environment': {
      const used = budget.environmentAttempt + 1
      if (used >= policy.environmentMax) return { retry: false, charge: 'environmentAttempt' }
      const delayMs = backoffMs(used, policy.environmentBaseMs, policy.environmentCapMs, random)
      return { retry: true, delayMs, charge: 'environmentAttempt' }
    }
    case 'transient':
    case 'bug': {
      const used = budget.attempt + 1
      if (used >= (errorClass === 'bug' ? policy.bugMax : policy.transientMax))
        return { retry: false, charge: 'attempt' }
      return { retry: true, delayMs: backoffMs(used, policy.baseMs, policy.capMs, random), charge: 'attempt' }
    }
  }
}

/**
 * When a job checks again whether the password of its site can be opened. Nothing was sent, and a person may take a
 * weekend: no budget is charged. Uncharged tries are not counted, so the pause grows with the turns of the job.
 */
export const pauseForPassword = (
  turns: number,
  policy: RetryPolicy,
  random: number,
): { readonly retry: true; readonly delayMs: number; readonly charge: 'none' } => ({
  retry: true,
  delayMs: backoffMs(turns, policy.environmentBaseMs, policy.environmentCapMs, random),
  charge: 'none',
})
