import { signingKeys } from './resources/access/signing-keys.ts'
import { tokens } from './resources/access/tokens.ts'
import { unopenedSecrets } from './resources/access/unopened-secrets.ts'
import { limits as admissionLimits } from './resources/fleet/limits.ts'
import { pauses } from './resources/fleet/pauses.ts'
import { settings } from './resources/fleet/settings.ts'
import { webhookVerbs } from './resources/fleet/webhook-verbs.ts'
import { webhooks } from './resources/fleet/webhooks.ts'
import { workers } from './resources/fleet/workers.ts'
import { assessment } from './resources/inventory/assessment.ts'
import { instanceOverrides } from './resources/inventory/instance-overrides.ts'
import { instanceVerbs } from './resources/inventory/instance-verbs.ts'
import { instances } from './resources/inventory/instances.ts'
import { networkLists } from './resources/inventory/network-lists.ts'
import { networks } from './resources/inventory/networks.ts'
import { rules } from './resources/inventory/rules.ts'
import { sourceDump, targetDump } from './resources/inventory/site-dump.ts'
import { hosts, projects, storage } from './resources/inventory/site-things.ts'
import { sourceVerbs, targetVerbs } from './resources/inventory/site-verbs.ts'
import { sources, targets } from './resources/inventory/sites.ts'
import { waivers } from './resources/inventory/waivers.ts'
import { warnings } from './resources/inventory/warnings.ts'
import { effects } from './resources/jobs/effects.ts'
import { eventSeals } from './resources/jobs/event-seals.ts'
import { events } from './resources/jobs/events.ts'
import { kinds } from './resources/jobs/job-kinds.ts'
import { jobVerbs } from './resources/jobs/job-verbs.ts'
import { jobs } from './resources/jobs/jobs.ts'
import { selfTests } from './resources/jobs/self-tests.ts'
import { batchInstanceRoutes } from './resources/migration/batch-instances.ts'
import { batchVerbs } from './resources/migration/batch-verbs.ts'
import { batches } from './resources/migration/batches.ts'
import { certificates } from './resources/migration/certificates.ts'
import { down } from './resources/migration/down.ts'
import { plans } from './resources/migration/plans.ts'
import { queue } from './resources/migration/queue.ts'
import { queueBulk } from './resources/migration/queue-bulk.ts'
import { queueVerbs } from './resources/migration/queue-verbs.ts'
import { machines } from './resources/operation/machines.ts'
import { operationCreate } from './resources/operation/operation-create.ts'
import { operations } from './resources/operation/operations.ts'
import { operationsBulk } from './resources/operation/operations-bulk.ts'
import { images } from './resources/template/images.ts'
import { templateVerbs } from './resources/template/template-verbs.ts'
import { templates } from './resources/template/templates.ts'

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
  batchVerbs,
  batchInstanceRoutes,
  plans,
  down,
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
  images,
  templates,
  templateVerbs,
]
