import type { Command } from './command.ts'
import { batchCommands } from './commands/batches.ts'
import { storedCertificateCommands } from './commands/certificates.ts'
import { doctorCommands } from './commands/doctor.ts'
import { effectCommands } from './commands/effects.ts'
import { eventCommands } from './commands/events.ts'
import { instanceCommands } from './commands/instances.ts'
import { jobCommands } from './commands/jobs.ts'
import { machineCommands } from './commands/machines.ts'
import { hostCommands, networkCommands } from './commands/networks.ts'
import { operationCommands } from './commands/operations.ts'
import { pauseCommands } from './commands/pauses.ts'
import { planCommands } from './commands/plans.ts'
import { queueCommands } from './commands/queue.ts'
import { ruleCommands } from './commands/rules.ts'
import { selfTestCommands } from './commands/self-test.ts'
import { settingCommands } from './commands/settings.ts'
import { signingKeyCommands } from './commands/signing-keys.ts'
import { sourceCommands, targetCommands } from './commands/sites.ts'
import { tokenCommands } from './commands/tokens.ts'
import { certificateCommands } from './commands/verify.ts'
import { warningCommands } from './commands/warnings.ts'
import { webhookCommands } from './commands/webhooks.ts'
import { workerCommands } from './commands/workers.ts'

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
  ...queueCommands,
  ...machineCommands,
  ...operationCommands,
  ...storedCertificateCommands,
  ...certificateCommands,
  ...signingKeyCommands,
  ...jobCommands,
  ...pauseCommands,
  ...effectCommands,
  ...workerCommands,
  ...eventCommands,
  ...webhookCommands,
  ...tokenCommands,
  ...settingCommands,
  ...selfTestCommands,
  ...doctorCommands,
]

/** What src/main.ts starts; the help and the completion name them too. */
export const roles: Readonly<Record<string, string>> = {
  up: 'everything on this machine, with an embedded Postgres unless DATABASE_URL is set (npm start)',
  api: 'the HTTP API, the console and Bull Board',
  worker: 'does the jobs; start as many as you like, on any machine',
  conductor: 'rings the bell, ends lost leases; one works, the others stand by',
  lab: 'a simulated data centre to try things out on, behind HTTP of its own',
  migrate: 'brings the database to this version, then ends; with machines behind it, it moves these',
  rekey: 'seals everything with DROVER_SECRET_KEY instead of DROVER_SECRET_KEYS_OLD, then ends',
}
