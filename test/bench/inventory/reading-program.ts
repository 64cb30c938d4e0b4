import { openDb } from '../../../db/client.ts'
import { syncSite } from '../../../src/inventory/sync/sync-site.ts'
import { openHttp } from '../../../src/platforms/http/platform-http.ts'
import type { Call } from '../../../src/platforms/ports/call.ts'
import type { Connection } from '../../../src/platforms/ports/connection.ts'
import { portOf } from '../../../src/platforms/ports/ports.ts'
import { instancePaths } from '../../../src/platforms/vsphere/inventory/instance-facts.ts'
import { createView, filterSpec } from '../../../src/platforms/vsphere/soap/property-read.ts'
import { Session } from '../../../src/platforms/vsphere/soap/session.ts'
import { element, wrap } from '../../../src/platforms/vsphere/soap/soap-request.ts'
import { openVsphere } from '../../../src/platforms/vsphere/vsphere.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { addOne, contextOf, mustClaim } from '../../support/ledger.ts'

/**
 * A process that reads a simulated vCenter in one of several ways, and says what it took. A process of its own,
 * so that its processor time and its memory are those of the reading alone.
 */
export interface ReadingTask {
  /** `parse`: the machines' properties, parsed and thrown away. `sync`: the whole of a sync-source job. */
  readonly way: 'parse' | 'sync-full' | 'sync-delta' | 'edit'
  readonly connection: Connection
  readonly databaseUrl: string
  readonly secretKey: string
  readonly source: string
  readonly edits: number
}

export interface ReadingReport {
  readonly items: number
  readonly tookMs: number
  readonly cpuMs: number
  readonly peakBytes: number
  readonly result: Readonly<Record<string, unknown>>
}

const call: Call = { signal: new AbortController().signal, timeoutMs: 600_000, name: 'bench' }

const parseAlone = async ({ connection }: ReadingTask): Promise<number> => {
  const http = openHttp(connection)
  const session = new Session(http, connection)
  await session.signIn(call)
  const root = await session.manager(call, 'rootFolder')
  const view = await createView(session, call, root, ['VirtualMachine'])
  const body =
    filterSpec('specSet', {
      objects: { view },
      properties: [{ type: 'VirtualMachine', paths: instancePaths }],
    }) + wrap('options', element('maxObjects', 500))
  const on = await session.manager(call, 'propertyCollector')
  const objects = session.stream(
    call,
    { on, method: 'RetrievePropertiesEx', body, repeatable: true },
    {
      items: { name: 'objects', depth: 4 },
      limits: { totalBytes: 2 ** 31, depth: 64, itemBytes: 32 * 1024 ** 2 },
    },
  )
  let seen = 0
  for await (const batch of objects) seen += batch.length
  await session.logout()
  http.close()
  return seen
}

const sync = async (task: ReadingTask): Promise<Readonly<Record<string, unknown>>> => {
  const db = openDb({ url: task.databaseUrl, max: 4, applicationName: 'drover-bench-sync' })
  const platform = openVsphere(task.connection)
  try {
    const id = await addOne(db, { subject: { type: 'source', id: task.source } })
    const job = await mustClaim(db, id, { leaseMs: 600_000 })
    const context = contextOf(db, job, (_site, work) => work(platform))
    const outcome = await syncSite(context, createSealer(task.secretKey), {
      role: 'source',
      name: task.source,
      mode: task.way === 'sync-full' ? 'full' : 'delta',
      force: false,
    })
    if (outcome.type !== 'done') throw new Error(`The sync was not done: ${outcome.detail}`)
    await db`update job set state = 'succeeded', lease_until = null, finished_at = now() where id = ${id}::uuid`
    return { ...outcome.result }
  } finally {
    await platform.close()
    await db.end({ timeout: 5 })
  }
}

/** Machines get another name, as somebody at the vCenter would give them: the simulator tells of few other changes. */
const edit = async ({ connection, databaseUrl, edits }: ReadingTask): Promise<number> => {
  const db = openDb({ url: databaseUrl, max: 1, applicationName: 'drover-bench-edit' })
  const platform = openVsphere(connection)
  const machines = portOf(platform, 'machines')
  const rows = await db<{ ref: string }[]>`
    select ref from instance where gone_at is null order by md5(ref) limit ${edits}`
  for (const { ref } of rows) {
    const task = await machines.rename(call, ref, `changed-${ref}`)
    await task.wait(call)
  }
  await platform.close()
  await db.end({ timeout: 5 })
  return rows.length
}

const run = async (task: ReadingTask): Promise<ReadingReport> => {
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  const result: Readonly<Record<string, unknown>> =
    task.way === 'parse'
      ? { items: await parseAlone(task) }
      : task.way === 'edit'
        ? { items: await edit(task) }
        : await sync(task)
  const tookMs = performance.now() - began
  const { user, system } = process.cpuUsage(cpuBefore)
  return {
    items: Number(result.items ?? 0),
    tookMs,
    cpuMs: (user + system) / 1_000,
    peakBytes: process.resourceUsage().maxRSS * 1_024,
    result,
  }
}

const send = (message: unknown): void => {
  process.send?.(message)
}

// One after the other, as a worker gets them: the second finds a warm process, and open sessions.
process.on('message', (task) => {
  run(task as ReadingTask).then(
    (report) => send({ type: 'done', report }),
    (error: unknown) =>
      send({
        type: 'failed',
        message: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
  )
})
// By its own exit, so that a profile is written.
process.once('SIGTERM', () => process.exit(0))
send({ type: 'ready' })
