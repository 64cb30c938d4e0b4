import { assessment } from './resources/assessment.ts'
import { batchActions } from './resources/batch-actions.ts'
import { batchMembers } from './resources/batch-members.ts'
import { batches } from './resources/batches.ts'
import { certificates } from './resources/certificates.ts'
import { effects } from './resources/effects.ts'
import { eventSeals } from './resources/event-seals.ts'
import { events } from './resources/events.ts'
import { instanceOverrides } from './resources/instance-overrides.ts'
import { instanceVerbs } from './resources/instance-verbs.ts'
import { instances } from './resources/instances.ts'
import { kinds } from './resources/job-kinds.ts'
import { jobVerbs } from './resources/job-verbs.ts'
import { jobs } from './resources/jobs.ts'
import { limits as admissionLimits } from './resources/limits.ts'
import { machines } from './resources/machines.ts'
import { networkLists } from './resources/network-lists.ts'
import { networks } from './resources/networks.ts'
import { operationCreate } from './resources/operation-create.ts'
import { operations } from './resources/operations.ts'
import { operationsBulk } from './resources/operations-bulk.ts'
import { pauses } from './resources/pauses.ts'
import { plans } from './resources/plans.ts'
import { queue } from './resources/queue.ts'
import { queueBulk } from './resources/queue-bulk.ts'
import { queueVerbs } from './resources/queue-verbs.ts'
import { rules } from './resources/rules.ts'
import { selfTests } from './resources/self-tests.ts'
import { settings } from './resources/settings.ts'
import { signingKeys } from './resources/signing-keys.ts'
import { sourceDump, targetDump } from './resources/site-dump.ts'
import { hosts, projects, storage } from './resources/site-things.ts'
import { sourceVerbs, targetVerbs } from './resources/site-verbs.ts'
import { sources, targets } from './resources/sites.ts'
import { tokens } from './resources/tokens.ts'
import { unopenedSecrets } from './resources/unopened-secrets.ts'
import { waivers } from './resources/waivers.ts'
import { warnings } from './resources/warnings.ts'
import { webhookVerbs } from './resources/webhook-verbs.ts'
import { webhooks } from './resources/webhooks.ts'
import { workers } from './resources/workers.ts'

/** Everything under `/v1`: the API mounts it for programs, the console asks it in its own process. */
export const resources = [
  jobs,
  jobVerbs,
  kinds,
  pauses,
  effects,
  workers,
  events,
  eventSeals,
  webhooks,
  webhookVerbs,
  tokens,
  settings,
  admissionLimits,
  selfTests,
  ...sources,
  sourceVerbs,
  sourceDump,
  ...targets,
  targetVerbs,
  targetDump,
  instances,
  instanceOverrides,
  instanceVerbs,
  networkLists,
  networks,
  hosts,
  storage,
  projects,
  rules,
  waivers,
  assessment,
  warnings,
  batches,
  batchActions,
  batchMembers,
  plans,
  queue,
  ...queueBulk,
  ...queueVerbs,
  certificates,
  signingKeys,
  unopenedSecrets,
  machines,
  operations,
  operationCreate,
  operationsBulk,
]
