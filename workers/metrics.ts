import { counter, gauge, histogram } from '../src/process/telemetry.ts'

export const jobsEnded = counter('jobs_ended_total', 'Turns of jobs that ended in this worker, by how.', [
  'kind',
  'ending',
])
export const jobsRunning = gauge('jobs_running', 'Jobs that run in this worker now.', ['kind'])
export const jobSeconds = histogram('job_seconds', 'How long a turn took, from the claim to its end.', [
  'kind',
])
