/** What every error of one code has in common. */
export interface ProblemFacts {
  readonly status: ProblemStatus
  readonly title: string
  /** What a person can do, unless the error itself says something better. */
  readonly remedy: string
}

/** The statuses that errors have. */
export type ProblemStatus =
  | 400
  | 401
  | 403
  | 404
  | 405
  | 409
  | 412
  | 413
  | 414
  | 415
  | 421
  | 422
  | 428
  | 429
  | 431
  | 500
  | 503

/** A row of the table of codes. */
export const facts = (status: ProblemStatus, title: string, remedy: string): ProblemFacts => ({
  status,
  title,
  remedy,
})
