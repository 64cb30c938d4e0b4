import { rotateKey, signingKeys } from './commands/access/signing-keys.ts'
import { tokenCommands } from './commands/access/tokens.ts'
import { doctorCommands } from './commands/fleet/doctor.ts'
import { settingCommands } from './commands/fleet/settings.ts'
import { webhookCommands } from './commands/fleet/webhooks.ts'
import { workers } from './commands/fleet/workers.ts'
import { instanceCommands } from './commands/inventory/instances.ts'
import { hostCommands, networkCommands } from './commands/inventory/networks.ts'
import { ruleCommands } from './commands/inventory/rules.ts'
import { sourceCommands, targetCommands } from './commands/inventory/sites.ts'
import { warningCommands } from './commands/inventory/warnings.ts'
import { effectCommands } from './commands/jobs/effects.ts'
import { eventCommands } from './commands/jobs/events.ts'
import { jobCommands } from './commands/jobs/jobs.ts'
import { pauseCommands } from './commands/jobs/pauses.ts'
import { selfTestCommands } from './commands/jobs/self-test.ts'
import { batchCommands } from './commands/migration/batches.ts'
import { storedCertificateCommands, verify } from './commands/migration/certificates.ts'
import { down } from './commands/migration/down.ts'
import { planCommands } from './commands/migration/plans.ts'
import { queueCommands } from './commands/migration/queue.ts'
import { machineCommands } from './commands/operation/machines.ts'
import { operationCommands } from './commands/operation/operations.ts'
import { imageCommands } from './commands/template/images.ts'
import { templateCommands } from './commands/template/templates.ts'
import type { Command } from './kit/command.ts'

/** Everything that speaks to the API, in the order of the help. */
export const commands: readonly Command[] = [
  ...sourceCommands,
  ...targetCommands,
  ...instanceCommands,
  ...networkCommands,
  ...hostCommands,
  ...ruleCommands,
  ...warningCommands,
  ...batchCommands,
  ...planCommands,
  down,
  ...queueCommands,
  ...machineCommands,
  ...operationCommands,
  ...imageCommands,
  ...templateCommands,
  ...storedCertificateCommands,
  verify,
  signingKeys,
  rotateKey,
  ...jobCommands,
  ...pauseCommands,
  ...effectCommands,
  workers,
  ...eventCommands,
  ...webhookCommands,
  ...tokenCommands,
  ...settingCommands,
  ...selfTestCommands,
  ...doctorCommands,
]

/** What src/roles/main.ts starts; the help and the completion name them too. */
export const roles: Readonly<Record<string, string>> = {
  up: 'everything on this machine, with an embedded Postgres unless DATABASE_URL is set (npm start)',
  api: 'the HTTP API, the console and Bull Board',
  worker: 'does the jobs; start as many as you like, on any machine',
  conductor: 'rings the bell, ends lost leases; one works, the others stand by',
  lab: 'a simulated data centre to try things out on, behind HTTP of its own',
  migrate: 'brings the database to this version, then ends; with machines behind it, it moves these',
  rekey: 'seals everything with DROVER_SECRET_KEY instead of DROVER_SECRET_KEYS_OLD, then ends',
}
