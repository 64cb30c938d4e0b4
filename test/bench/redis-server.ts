import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { until } from '../support/wait.ts'
import { freePort } from './free-port.ts'
import { startProcess } from './processes.ts'
import { onClose } from './resources.ts'

const settings = {
  appendonly: 'yes',
  appendfsync: 'everysec',
  save: '',
  'maxmemory-policy': 'noeviction',
} as const

export interface RedisServer {
  readonly pid: number
  readonly version: string
  readonly settings: Readonly<Record<string, string>>
  readonly url: string
  /** Empties the store: a fresh start for the next contender, or the loss that a benchmark is about. */
  flush(): Promise<void>
}

/** Starts a private redis-server with a log that is synced every second; it goes away at the end. */
export const startRedis = async (): Promise<RedisServer> => {
  const dir = await mkdtemp(join(tmpdir(), 'drover-bench-redis-'))
  onClose(() => rm(dir, { recursive: true, force: true }))
  const port = await freePort()
  const own = { bind: '127.0.0.1', port: String(port), dir }
  const server = startProcess({
    title: 'redis-server',
    command: 'redis-server',
    args: Object.entries({ ...settings, ...own }).flatMap(([name, value]) => [`--${name}`, value]),
  })
  const url = `redis://127.0.0.1:${port}`
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
  client.on('error', () => {})
  onClose(async () => client.disconnect())
  const version = await until(async () => /redis_version:(\S+)/.exec(await client.info('server'))?.[1], {
    what: `Redis to answer\n${server.output()}`,
  })
  return { pid: server.pid, version, settings, url, flush: async () => void (await client.flushall()) }
}
