import { expect } from 'vitest'
import type { Db } from '../../db/client.ts'
import type { OperationRow } from '../../db/schema/operation.ts'
import { mayForce, type OperationKind } from '../../src/domain/operation/kinds/kinds.ts'
import { operationReasons } from '../../src/domain/operation/kinds/reasons.ts'
import { DroverError } from '../../src/errors.ts'
import { nudgeCancel } from '../../src/ledger/jobs/cancel.ts'
import { nudge } from '../../src/ledger/jobs/nudge.ts'
import {
  type AskedOperation,
  askOperation,
  type OperationAsk,
} from '../../src/operation/admission/ask-operation.ts'
import { cancelOperation } from '../../src/operation/admission/cancel-operation.ts'
import { recordRefusal } from '../../src/operation/admission/record-refusal.ts'
import { openLab } from '../../src/platforms/lab/lab.ts'
import { createSealer } from '../../src/seal/seal.ts'
import { checkInvariants } from './invariants.ts'
import { createInventoryWorker, makeSite } from './inventory.ts'
import type { TestLab } from './lab.ts'
import { checkMachines, readLabLog } from './operated-machines.ts'
import { checkOperations, watchOperations } from './operation-invariants.ts'
import { until } from './wait.ts'

export interface OperatedMachine {
  readonly id: string
  readonly ref: string
}

interface Asked {
  readonly kind: OperationKind
  readonly force?: boolean
  readonly onConflict?: 'supersede' | 'queue' | 'reject'
  /** An evacuation: what it asks for comes back when it had to give way. */
  readonly cause?: 'person' | 'evacuation'
}

/** Machines of a lab that the ledger operates, as real processes reach them. */
export interface OperatedWorld {
  readonly db: Db
  readonly lab: TestLab
  readonly machines: readonly OperatedMachine[]
  /** As the API asks; a refusal is an answer. */
  ask(machine: OperatedMachine, asked: Asked): Promise<OperationRow | DroverError>
  /** The same where it must be admitted. */
  mustAsk(machine: OperatedMachine, asked: Asked): Promise<OperationRow>
  cancel(operationId: string): Promise<void>
  read(operationId: string): Promise<OperationRow>
  power(machine: OperatedMachine): Promise<string>
  /** Where the lab has it. */
  host(machine: OperatedMachine): Promise<string>
  /** Waits until every operation has ended and let go. */
  settled(withinMs?: number): Promise<void>
  /** Nothing is under way, and no law was broken. */
  expectWhole(): Promise<void>
}

export const createOperatedWorld = async (
  db: Db,
  lab: TestLab,
  options: {
    readonly deadlineSeconds?: number
    /** All hosts are of one cluster: machines are moved between any two. */
    readonly oneCluster?: boolean
  } = {},
): Promise<OperatedWorld> => {
  await watchOperations(db)
  if (options.oneCluster) await joinClusters(lab)
  const sealer = createSealer('5e'.repeat(32))
  await makeSite(db, {
    ...{ role: 'target', name: 'vc', connectivity: 'ok', quiet: true, sealer },
    ...{ endpoint: lab.endpoint('vcenter'), password: lab.password },
  })
  // Its machines become ours, and its hosts are known to moves.
  await createInventoryWorker(db, openLab, undefined, sealer).sync('vc', { role: 'target' })
  const machines = await db<OperatedMachine[]>`select id, ref from machine order by length(ref), ref`
  if (machines.length === 0) throw new Error('The target has no machine that was adopted.')
  const { deadlineSeconds = 120 } = options
  const world = { db, lab, machines, deadlineSeconds }
  return {
    ...world,
    ask: (machine, asked) => ask(world, machine, asked),
    mustAsk: async (machine, asked) => {
      const made = await ask(world, machine, asked)
      if (made instanceof DroverError) throw made
      return made
    },
    cancel: async (id) => {
      const { canceled } = (await insisting(db, () =>
        db.begin((tx) => cancelOperation(tx, { id, by: 'test' })),
      )) as Awaited<ReturnType<typeof cancelOperation>>
      if (canceled) nudgeCancel(db, canceled)
    },
    read: async (id) => {
      const [row] = await db<OperationRow[]>`select * from operation where id = ${id}::uuid`
      if (!row) throw new Error(`There is no operation ${id}.`)
      return row
    },
    power: async ({ ref }) => (await readLabLog(lab, 'vcenter')).power.get(ref) ?? '',
    host: async ({ ref }) => (await readLabLog(lab, 'vcenter')).hosts.get(ref) ?? '',
    settled: (withinMs = 120_000) => settled(db, withinMs),
    expectWhole: async () => {
      expect(await checkOperations(db, { atRest: true })).toEqual([])
      expect(await checkMachines(db, await readLabLog(lab, 'vcenter'))).toEqual([])
      expect(await checkInvariants(db)).toEqual([])
    },
  }
}

const joinClusters = async ({ database: { db } }: TestLab): Promise<void> => {
  await db`
    update lab.entity set data = (data::jsonb || '{"cluster": "cluster-0"}')::json
    where site = 'vcenter' and type = 'host'`
  await db`update lab.machine set cluster = 'cluster-0' where site = 'vcenter'`
}

const statementTimeout = '57014'
const insistMost = 8

/**
 * A process that is frozen while it holds a machine keeps it until that connection is given up. Who asks meanwhile
 * is answered that it cannot be done now, nothing is changed, and asks again.
 */
const insisting = async <Result>(db: Db, work: () => Promise<Result>): Promise<Result> => {
  for (let times = 1; ; times += 1)
    try {
      return await work()
    } catch (error) {
      if ((error as { code?: unknown }).code !== statementTimeout) throw error
      if (times === insistMost) throw new Error(`Nobody gets in. ${await whoIsIn(db)}`, { cause: error })
    }
}

/** Transactions that are open, for who has to find out why one is not let in. */
const whoIsIn = async (db: Db): Promise<string> => {
  const rows = await db`
    select pid, application_name, state, wait_event, round(extract(epoch from now() - xact_start)) as seconds,
      pg_blocking_pids(pid) as behind, left(query, 200) as query
    from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`
  return JSON.stringify(rows)
}

const ask = async (
  { db, deadlineSeconds }: { readonly db: Db; readonly deadlineSeconds: number },
  machine: OperatedMachine,
  { kind, force = false, onConflict = 'supersede', cause = 'person' }: Asked,
): Promise<OperationRow | DroverError> => {
  const asked: OperationAsk = {
    ...{ machineId: machine.id, kind, force: force && mayForce(kind), onConflict, params: {} },
    ...{ cause, by: 'test', deadlineSeconds, waitSeconds: 3_600 },
  }
  try {
    const { operation, canceled } = (await insisting(db, () =>
      db.begin((tx) => askOperation(tx, asked)),
    )) as AskedOperation
    for (const outcome of canceled) nudgeCancel(db, outcome)
    nudge(db)
    return operation
  } catch (error) {
    if (!(error instanceof DroverError) || !Object.hasOwn(operationReasons, error.code)) throw error
    await recordRefusal(db, asked, error)
    return error
  }
}

const settled = async (db: Db, withinMs: number): Promise<void> => {
  const open = async () => db<{ id: string }[]>`
    select o.id, o.kind, o.state, o.reason, o.message, j.state as job, j.wait_reason, j.error ->> 'message' as error,
      j.worker_id, j.lost
    from operation o left join job j on j.id = o.job_id where o.settled_at is null`
  const debts = async () => db<{ id: string }[]>`
    select id, name, error from effect where state in ('intended', 'debt')`
  const jobs = async () => db<{ id: string }[]>`select id, kind, state from job where finished_at is null`
  const standing = async () => db<{ id: string }[]>`
    select o.id from operation o join machine m on m.id = o.machine_id
    where o.come_back_at is not null and m.power = 'on' and m.host = o.leaves`
  await until(
    async () => {
      // Nobody waits out the pauses between tries.
      await db`update job set run_after = now(), bell = 'due' where state = 'ready' and bell = 'held' and run_after > now()`
      await db`update effect set next_try_at = now() - interval '1 second' where state = 'debt' and next_try_at > now()`
      await db`update operation set come_back_at = now() - interval '1 second' where come_back_at > now()`
      return (await open()).length + (await jobs()).length + (await standing()).length === 0
    },
    { what: 'all operations to settle', withinMs, everyMs: 100 },
  ).catch(async (error: Error) => {
    const left = { operations: await open(), effects: await debts(), jobs: await jobs() }
    throw new Error(`${error.message} Left: ${JSON.stringify(left, null, 1).slice(0, 8_000)}`)
  })
}
