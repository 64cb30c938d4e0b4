import type { Queryable } from '../../client.ts'

/** SQL: whether an open job has this subject. Through `job_search`: `job` itself has no index on subjects. */
export const openJobAbout = (
  db: Queryable,
  subjectType: string,
  subjectId: ReturnType<Queryable> | string,
) => db`
  exists (
    select from job_search s join job on job.id = s.job_id
    where s.subject_type = ${subjectType} and s.subject_id = ${subjectId} and job.finished_at is null)`

/** SQL: whether a worker runs a job with this subject. */
export const runningJobAbout = (db: Queryable, subjectType: string, subjectId: ReturnType<Queryable>) => db`
  exists (
    select from job_search s join job on job.id = s.job_id
    where s.subject_type = ${subjectType} and s.subject_id = ${subjectId} and job.state = 'running')`
