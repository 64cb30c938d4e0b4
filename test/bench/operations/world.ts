import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { type Db, openDb } from '../../../db/client.ts'
import { migrateDb } from '../../../db/migrate.ts'
import { addMachine } from '../../support/machines.ts'
import { cpuMsOf } from '../cpu-time.ts'
import { addSite } from '../made-site.ts'
import type { PostgresServer } from '../postgres-server.ts'
import { firstMessage, startProcess } from '../processes.ts'
import { startRole } from '../roles.ts'
import type { OperationsBench } from './suite.ts'

const program = fileURLToPath(new URL('./lab-program.ts', import.meta.url))
/** Who asks, each with a token of its own, as the limit of requests is by token. */
export const clientsMost = 8

/** Our roles as in production, on a lab, with so many machines to operate. */
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

/** In the lab's world each tenth machine is off; ours are to be on. */
const isOn = (number: number): boolean => number % 10 !== 0

/** The lab has as many machines in each world, so that what is compared is ours. */
export const openWorld = async (
  { options, postgres }: OperationsBench,
  given: { readonly name: string; readonly machines: number; readonly labMachines: number },
): Promise<World> => {
  const names = [given.name, `${given.name}_lab`] as const
  const [url, labUrl] = [
    await postgres.createDatabase(names[0], await template(postgres)),
    await postgres.createDatabase(names[1], await template(postgres)),
  ]
  const secretKey = randomBytes(32).toString('hex')
  const adminToken = randomBytes(24).toString('base64url')
  const lab = startProcess({
    title: 'lab',
    command: process.execPath,
    args: ['--import', 'tsx', program],
    env: { ...process.env, LAB_DATABASE_URL: labUrl, LAB_MACHINES: String(given.labMachines) },
    ipc: true,
  })
  const { port, password } = (await firstMessage('lab', lab)) as { port: number; password: string }
  const db = openDb({ url, max: 4, applicationName: 'drover-bench' })
  const targetId = await addSite(db, {
    ...{ role: 'target', name: 'vc', endpoint: `http://127.0.0.1:${port}/sites/vcenter` },
    ...{ password, secretKey },
  })
  const machines = await addMachines(db, targetId, given.machines)
  await db`vacuum analyze`
  const role = { url, secretKey, leaseMs: options.leaseMs }
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

const addMachines = async (db: Db, targetId: string, count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let number = 1; ids.length < count; number += 1)
    if (isOn(number)) ids.push(await addMachine(db, { targetId, ref: `vm-${number}`, name: `vm-${number}` }))
  return ids
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
