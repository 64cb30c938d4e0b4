import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { type Db, openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate/migrate.ts'
import { addMachine } from '../../support/machines.ts'
import { cpuMsOf } from '../cpu-time.ts'
import { addSite } from '../made-site.ts'
import type { PostgresServer } from '../postgres-server.ts'
import { firstMessage, startProcess } from '../processes.ts'
import { startRole } from '../roles.ts'
import type { OperationsBench } from './suite.ts'

const program = fileURLToPath(new URL('./lab-program.ts', import.meta.url))
const labs = 4
/** Who asks, each with a token of its own, as the limit of requests is by token. */
export const clientsMost = 8

/** Our roles as in production, on labs, with so many machines to operate. */
export interface World {
  readonly db: Db
  readonly url: string
  readonly tokens: readonly string[]
  readonly machines: readonly string[]
  /** Processor time used so far, in milliseconds. */
  readonly cpu: () => Readonly<Record<'postgres' | 'api' | 'workers' | 'conductor' | 'lab', number>>
  readonly close: () => Promise<void>
}

const templates = new WeakMap<PostgresServer, Promise<string>>()

const template = (server: PostgresServer): Promise<string> => {
  let made = templates.get(server)
  if (!made) {
    made = server.createDatabase('operations_template').then(async (url) => {
      await migrateDb(url)
      return 'operations_template'
    })
    templates.set(server, made)
  }
  return made
}

/** Ours, and those of the labs. */
export const namesOf = (name: string): readonly string[] => [
  name,
  ...Array.from({ length: labs }, (_, index) => `${name}_lab_${index + 1}`),
]

/** In the lab's world each tenth machine is off; ours are to be on. */
const isOn = (number: number): boolean => number % 10 !== 0

/** The labs have as many machines in each world, so that what is compared is ours. */
export const openWorld = async (
  { options, postgres, redis }: OperationsBench,
  given: { readonly name: string; readonly machines: number; readonly labMachines: number },
): Promise<World> => {
  const databases = namesOf(given.name)
  const [url = '', ...labUrls] = await Promise.all(
    databases.map(async (name) => postgres.createDatabase(name, await template(postgres))),
  )
  // The lab stands for a data centre, which does not share our disk.
  for (const name of databases.slice(1))
    await postgres.admin.unsafe(`alter database ${name} set synchronous_commit = off`)
  const secretKey = randomBytes(32).toString('hex')
  const adminToken = randomBytes(24).toString('base64url')
  const lab = startProcess({
    title: 'labs',
    command: process.execPath,
    args: ['--import', 'tsx', program],
    env: {
      ...process.env,
      LAB_DATABASE_URLS: labUrls.join(' '),
      LAB_MACHINES: String(Math.ceil(given.labMachines / labs)),
    },
    ipc: true,
  })
  const running = (await firstMessage('labs', lab)) as readonly { port: number; password: string }[]
  const db = openDb({ url, max: 4, applicationName: 'drover-bench' })
  const targets: string[] = []
  for (const [index, { port, password }] of running.entries())
    targets.push(
      await addSite(db, {
        ...{ role: 'target', name: `vc-${index + 1}`, endpoint: `http://127.0.0.1:${port}/sites/vcenter` },
        ...{ password, secretKey },
      }),
    )
  const machines = await addMachines(db, targets, given.machines)
  await db`vacuum analyze`
  await redis?.flush()
  const role = { url, secretKey, leaseMs: options.leaseMs, redisUrl: redis?.url }
  const api = await startRole('api', { ...role, adminToken })
  const conductor = await startRole('conductor', role)
  const workers = await Promise.all(Array.from({ length: options.workers }, () => startRole('worker', role)))
  const apiUrl = `http://127.0.0.1:${api.port}`
  const of = (...started: readonly { readonly pid: number }[]) =>
    started.reduce((sum, { pid }) => sum + (cpuMsOf(pid) ?? 0), 0)
  return {
    ...{ db, url: apiUrl, machines },
    tokens: await makeTokens(apiUrl, adminToken),
    cpu: () => ({
      postgres: of(postgres),
      api: of(api),
      workers: of(...workers),
      conductor: of(conductor),
      lab: of(lab),
    }),
    close: async () => {
      await Promise.all([api, conductor, ...workers].map((one) => one.stop()))
      await lab.stop()
      await db.end({ timeout: 5 })
    },
  }
}

const addMachines = async (db: Db, targets: readonly string[], count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let number = 1; ; number += 1)
    for (const [index, targetId] of targets.entries()) {
      if (ids.length === count) return ids
      const made = { targetId, ref: `vm-${number}`, name: `vm-${index + 1}-${number}` }
      if (isOn(number)) ids.push(await addMachine(db, made))
    }
}

const makeTokens = (url: string, adminToken: string): Promise<string[]> =>
  Promise.all(
    Array.from({ length: clientsMost }, async (_, index) => {
      const response = await fetch(`${url}/v1/tokens`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: `client-${index + 1}`, role: 'operator' }),
      })
      if (!response.ok) throw new Error(`No token: ${await response.text()}`)
      return ((await response.json()) as { secret: string }).secret
    }),
  )
