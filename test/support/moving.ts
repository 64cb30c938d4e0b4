import { writeLimit } from '../../db/queries/tokens/limits.ts'
import type { OperationRow } from '../../db/schema/operation.ts'
import type { LabOptions } from '../../src/lab/lab.ts'
import { originalBlock } from '../../src/lab/model/disk-content.ts'
import { tickOperations } from '../../src/operation/upkeep/ticks.ts'
import { openLab } from '../../src/platforms/lab/lab.ts'
import { createInventoryWorker } from './inventory.ts'
import { createOperatingWorld, type OperatingWorld } from './operating.ts'
import { strictLog } from './strict-log.ts'

export const GiB = 1024 ** 3

/** A machine that runs on a host of the lab's cloud. */
export interface MovingMachine {
  readonly id: string
  readonly ref: string
}

export interface MovingWorld extends OperatingWorld {
  /** A machine of the test's own, on that host. `moveMs`: how long its moves take at pace 1; `stallAt`: where they stay. */
  running(options?: {
    readonly host?: string
    readonly memory?: number
    readonly moveMs?: number
    readonly stallAt?: number
  }): Promise<MovingMachine>
  /** So many of them, with one look at the target. */
  allRunning(machines: readonly NonNullable<Running>[]): Promise<MovingMachine[]>
  /** Reads the target anew. */
  sync(): Promise<void>
  limit(name: string, capacity: number): Promise<void>
  /** Turns until the operation says that; fails when it ends before. */
  until(operation: OperationRow, reason: string): Promise<OperationRow>
  /** As if its move had come no further for so long. */
  stuckFor(operation: OperationRow, ms: number): Promise<void>
  /** Turns until its job has ended, however many it takes, and what the conductor does then. */
  endOf(operation: OperationRow): Promise<OperationRow>
  jobOf(operation: OperationRow): Promise<{
    state: string
    waitReason: string | null
    waitDetail: string | null
    tokens: string[]
  }>
  /** Changes what is special about a machine in the lab. */
  edit(machine: MovingMachine, edit: Record<string, unknown>): Promise<void>
  act(act: Record<string, unknown>): Promise<void>
  /** Changes a host of the lab; seen by Drover after the next sync. */
  editHost(host: string, data: Record<string, unknown>): Promise<void>
}

let made = 0

/** A guest with an agent that hears. */
const bootBlock = originalBlock(
  {
    seed: 0,
    profile: {
      ...{ data: [], random: 0 },
      boot: {
        ...{ hostname: 'moving', os: 'debian-12', agent: 'running', addresses: [], ports: [] },
        ...{ boot_ms: 100, shutdown_ms: 100, shutdown: 'obeys', writes: null },
      },
    },
  },
  0,
)

type Running = Parameters<MovingWorld['running']>[0]

interface Parts {
  readonly world: OperatingWorld
  readonly sync: () => Promise<void>
  readonly admin: (request: string, body?: unknown) => Promise<void>
}

const makeAllRunning = async (
  parts: Parts,
  machines: readonly NonNullable<Running>[],
): Promise<MovingMachine[]> => {
  const { db, target, machine } = parts.world
  const refs = await Promise.all(machines.map((one) => runInLab(parts, one)))
  await parts.sync()
  const rows = await db<MovingMachine[]>`
    select id, ref from machine where target_id = ${target.id}::uuid and gone_at is null`
  const ids = new Map(rows.map(({ id, ref }) => [ref, id]))
  return Promise.all(refs.map(async (ref) => ({ id: ids.get(ref) ?? (await machine(ref)), ref })))
}

/** Gives its ref. */
const runInLab = async (
  { world, admin }: Parts,
  { host = 'node-1', memory = GiB, moveMs, stallAt }: NonNullable<Running>,
): Promise<string> => {
  const { site } = world
  const task = await site.done('POST /instances', {
    ...{ name: `moving-${made++}`, project: 'default', host, folder: '', cpus: 1, memory, uuid: '' },
    ...{ legacy_boot: true, secure_boot: false, nics: [], owner: {} },
    disks: [{ key: 'disk-0', capacity: 1024 ** 2, pool: 'local' }],
  })
  const ref = task.result ?? ''
  await site.call(`PUT /instances/${ref}/disks/disk-0/bytes?offset=0`, bootBlock)
  await site.done(`POST /instances/${ref}/power`, { verb: 'start' })
  if ((await world.power(ref)).host !== host) await site.done(`POST /instances/${ref}/move`, { host })
  if (moveMs !== undefined || stallAt !== undefined)
    await admin(`PATCH /lab/sites/cloud/instances/${ref}`, { move_ms: moveMs, move_stall_at: stallAt })
  return ref
}

/** The three hosts of one CPU class that the lab's cloud has, as a target that machines are moved on. */
export const createMovingWorld = async (options: Partial<LabOptions> = {}): Promise<MovingWorld> => {
  const world = await createOperatingWorld({ at: 'cloud', ...options })
  const { db, lab, target } = world
  const inventory = createInventoryWorker(db, openLab)
  const admin = async (request: string, body?: unknown): Promise<void> => {
    const { status, bytes } = await lab.admin(request, body)
    if (status >= 300) throw new Error(`${request} was answered ${status}: ${bytes.toString()}`)
  }
  const sync = async (): Promise<void> => {
    const { state, error } = await inventory.sync(target.name, { role: 'target', mode: 'full' })
    if (state !== 'succeeded') throw new Error(`The sync ended ${state}: ${JSON.stringify(error)}`)
  }
  const moving: MovingWorld = {
    ...world,
    sync,
    running: async (machine = {}) => {
      const [made] = await makeAllRunning({ world, sync, admin }, [machine])
      if (!made) throw new Error('The machine was not made.')
      return made
    },
    allRunning: (machines) => makeAllRunning({ world, sync, admin }, machines),
    limit: async (name, capacity) =>
      void (await db.begin((tx) => writeLimit(tx, { name, capacity, by: 'test' }))),
    until: async (operation, reason) => {
      for (let turns = 0; turns < 500; turns += 1) {
        const now = await world.turn(operation)
        if (now.reason === reason) return now
        if (now.finishedAt !== null) throw new Error(`It ended ${now.state}: ${now.message}`)
      }
      throw new Error(`It never came to ${reason}.`)
    },
    stuckFor: async ({ id }, ms) =>
      void (await db`
        update job set checkpoint = jsonb_set(checkpoint, '{move,track,stuckMs}', ${ms}::text::jsonb)
        where id = (select job_id from operation where id = ${id}::uuid)`),
    endOf: async (operation) => {
      for (let turns = 0; turns < 1_000; turns += 1) {
        await tickOperations(db, strictLog)
        await world.turn(operation)
        const { state } = await moving.jobOf(operation)
        if (!['succeeded', 'failed', 'canceled'].includes(state)) continue
        await tickOperations(db, strictLog)
        return world.operation(operation.id)
      }
      throw new Error(`Operation ${operation.id} did not end.`)
    },
    jobOf: async ({ id }) => {
      const [row] = await db<
        { state: string; waitReason: string | null; waitDetail: string | null; tokens: string[] }[]
      >`
        select j.state, j.wait_reason, j.wait_detail, j.tokens from job j join operation o on o.job_id = j.id
        where o.id = ${id}::uuid`
      if (!row) throw new Error(`Operation ${id} has no job.`)
      return row
    },
    edit: (machine, edit) => admin(`PATCH /lab/sites/cloud/instances/${machine.ref}`, edit),
    editHost: async (host, data) =>
      void (await lab.database.db`
        update lab.entity set data = (data::jsonb || ${JSON.stringify(data)}::text::jsonb)::json, seq = seq + 1
        where site = 'cloud' and type = 'host' and ref = ${host}`),
    act: (what) => admin('POST /lab/acts', { site: 'cloud', ...what }),
  }
  return moving
}
