import type { Db } from '../../db/client.ts'
import { findMachine } from '../../db/queries/machines/machine-rows.ts'
import { findOperation } from '../../db/queries/operations/operation-rows.ts'
import type { SiteRow } from '../../db/schema/inventory.ts'
import type { MachineRow, OperationRow } from '../../db/schema/operation.ts'
import type { ConflictRule } from '../../src/domain/operation/admission/admit.ts'
import type { OperationKind } from '../../src/domain/operation/kinds/kinds.ts'
import { operationParams } from '../../src/domain/operation/kinds/params.ts'
import type { LabOptions } from '../../src/lab/lab.ts'
import { sweepDebts } from '../../src/ledger/conductor/sweeps.ts'
import { type AskedOperation, askOperation } from '../../src/operation/admission/ask-operation.ts'
import { type CanceledOperation, cancelOperation } from '../../src/operation/admission/cancel-operation.ts'
import { tickOperations } from '../../src/operation/upkeep/ticks.ts'
import { openLab } from '../../src/platforms/lab/lab.ts'
import type { OpenPlatform } from '../../src/platforms/open.ts'
import type { Platform } from '../../src/platforms/ports/ports.ts'
import { handleOperateMachine } from '../../workers/handlers/operate-machine.ts'
import { handleSettleDebt } from '../../workers/handlers/settle-debt.ts'
import { createEntryWorker } from './entry-world.ts'
import { createInventoryWorker, makeSite } from './inventory.ts'
import { createLab, type SiteClient, type TestLab } from './lab.ts'
import { jobOf } from './ledger.ts'
import { addMachine } from './machines.ts'
import { createDatabase } from './postgres.ts'
import { strictLog } from './strict-log.ts'

export interface Asking {
  readonly force?: boolean
  readonly params?: Record<string, unknown>
  readonly onConflict?: ConflictRule
  readonly deadlineSeconds?: number
  readonly cause?: 'person' | 'evacuation'
}

/** Machines of a target that operations are done to, by a worker of this process that the test leads turn by turn. */
export interface Operators {
  readonly db: Db
  readonly target: SiteRow
  readonly worker: ReturnType<typeof createEntryWorker>
  machine(ref: string, power?: 'on' | 'off'): Promise<string>
  ask(machineId: string, kind: OperationKind, asking?: Asking): Promise<OperationRow>
  /** One turn; gives how the operation is then. */
  turn(operation: OperationRow): Promise<OperationRow>
  /** Turns until its job has ended, and what the conductor does then. */
  finish(operation: OperationRow): Promise<OperationRow>
  /** Asks, and has it done to its end. */
  done(machineId: string, kind: OperationKind, asking?: Asking): Promise<OperationRow>
  /** What is owed and due is tried, once each. */
  settleDebts(): Promise<void>
  cancel(operation: OperationRow): Promise<CanceledOperation>
  operation(id: string): Promise<OperationRow>
  row(machineId: string): Promise<MachineRow>
}

/** The same on a lab, which does to them what a test wants. */
export interface OperatingWorld extends Operators {
  readonly lab: TestLab
  readonly site: SiteClient
  power(ref: string): Promise<{ state: string; host: string; boot_id: string }>
  /** Tasks of a machine of that kind, as the lab has them. */
  tasks(ref: string, kind: string): Promise<{ name: string; state: string }[]>
  fault(rule: Record<string, unknown>): Promise<void>
  clearFaults(): Promise<void>
  /** How long the lab's work takes from now on: 0 is at once. */
  pace(pace: number): Promise<void>
}

export const createOperators = (parts: {
  readonly db: Db
  readonly target: SiteRow
  readonly open: OpenPlatform
}): Operators => {
  const { db, target, open } = parts
  const { use } = createInventoryWorker(db, open)
  const settle = handleSettleDebt(new Map(Object.entries(handleOperateMachine.undoers ?? {})))
  const worker = createEntryWorker(db, [handleOperateMachine, settle], use)
  const operation = async (id: string): Promise<OperationRow> => {
    const row = await findOperation(db, id)
    if (!row) throw new Error(`There is no operation ${id}.`)
    return row
  }
  const jobIdOf = async (id: string): Promise<string> => (await operation(id)).jobId ?? ''
  const operators: Operators = {
    ...{ db, target, worker, operation },
    machine: (ref, power = 'on') => addMachine(db, { targetId: target.id, ref, power }),
    ask: async (machineId, kind, asking = {}) => {
      const { force = false, params = {}, onConflict = 'supersede', deadlineSeconds = 600 } = asking
      const { cause = 'person' } = asking
      const asked = (await db.begin((tx) =>
        askOperation(tx, {
          ...{ machineId, kind, force, onConflict, deadlineSeconds, cause, by: 'test' },
          ...{ params: operationParams[kind].parse(params), waitSeconds: 3_600 },
        }),
      )) as AskedOperation
      return asked.operation
    },
    turn: async ({ id }) => {
      await makeReady(db, await jobIdOf(id))
      await worker.follow(await jobIdOf(id))
      return operation(id)
    },
    finish: async ({ id }) => {
      await worker.finish(await jobIdOf(id))
      await tickOperations(db, strictLog)
      return operation(id)
    },
    done: async (machineId, kind, asking) => operators.finish(await operators.ask(machineId, kind, asking)),
    settleDebts: async () => {
      await sweepDebts(db)
      const jobs = await db<{ id: string }[]>`
        select id from job where kind = 'settle-debt' and finished_at is null order by id`
      for (const { id } of jobs) await worker.finish(id)
    },
    cancel: async ({ id }) =>
      (await db.begin((tx) => cancelOperation(tx, { id, by: 'test' }))) as CanceledOperation,
    row: async (id) => {
      const row = await findMachine(db, id)
      if (!row) throw new Error(`There is no machine ${id}.`)
      return row
    },
  }
  return operators
}

export const createOperatingWorld = async (
  options: Partial<LabOptions> & {
    readonly alter?: (platform: Platform) => Platform
    /** Which site of the lab is the target. */
    readonly at?: string
  } = {},
): Promise<OperatingWorld> => {
  const { alter = (platform) => platform, at = 'vcenter', ...labOptions } = options
  const { db } = await createDatabase()
  const lab = await createLab(labOptions)
  const site = await lab.signIn(at)
  const target = await makeSite(db, {
    ...{ role: 'target', name: 'vc', connectivity: 'ok', quiet: true },
    ...{ endpoint: lab.endpoint(at), password: lab.password },
  })
  return {
    ...createOperators({ db, target, open: (connection) => alter(openLab(connection)) }),
    ...{ lab, site },
    power: async (ref) => (await site.call(`GET /instances/${ref}/power`)).json,
    tasks: async (ref, kind) => {
      const { json } = await site.call(`GET /tasks?machine=${ref}`)
      return (json as { tasks: { kind: string; name: string; state: string }[] }).tasks.filter(
        (task) => task.kind === kind,
      )
    },
    fault: async (rule) => {
      const { status, bytes } = await lab.admin('POST /lab/faults', rule)
      if (status >= 300) throw new Error(`The fault was answered ${status}: ${bytes.toString()}`)
    },
    clearFaults: async () => void (await lab.admin('DELETE /lab/faults')),
    pace: async (pace) => void (await lab.database.db`update lab.world set pace = ${pace}`),
  }
}

/** A wait of a job is over, and told to be, as the conductor does it. */
const makeReady = async (db: Db, jobId: string): Promise<void> => {
  await db`
    with woken as (
      update job set state = 'ready', bell = 'due', run_after = now(), wait_reason = null, wait_since = null,
        wait_until = null, wait_signal = null
      where id = ${jobId}::uuid and state = 'waiting' returning id, subject_type, subject_id
    )
    insert into event (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason)
    select 'job.woken', subject_type, subject_id, id, 'test', 'waiting', 'ready', 'wait-deadline' from woken`
}

/** When the job of an operation that waits looks again, from now; null: it does not wait. */
export const nextLookMs = async ({ db }: OperatingWorld, operation: OperationRow): Promise<number | null> => {
  const job = await jobOf(db, operation.jobId ?? '')
  if (job.state !== 'waiting') return null
  const [row] = await db<{ ms: number }[]>`
    select (extract(epoch from wait_until - now()) * 1000)::float8 as ms from job where id = ${job.id}::uuid`
  return row?.ms ?? null
}
