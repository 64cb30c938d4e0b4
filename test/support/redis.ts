import { rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { atEnd } from './cleanup.ts'
import { startProcess, type TestProcess } from './processes.ts'
import { freePort, makeTempDir } from './temp.ts'
import { until } from './wait.ts'

export interface RedisOptions {
  /** `none`: a restart loses everything. `aof`: every write is kept. */
  readonly persistence?: 'none' | 'aof'
  readonly policy?: string
  /** It speaks TLS alone, with this certificate. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** A Redis server of our own on a loopback port that stays the same over restarts. */
export interface TestRedis {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** A clean stop. */
  stop(): Promise<void>
  /** kill -9. */
  kill(): Promise<void>
  /** Starts it again on the same port, over what it kept; stops it first when it runs. */
  restart(): Promise<void>
  /** Freezes the process: connections stay open and nothing answers. */
  pause(): void
  resume(): void
  /** Where it keeps its files. */
  directory(): Promise<string>
  /** Sends one command and gives the first line of the answer, such as `+OK`. */
  send(command: string): Promise<string>
}

/** Starts a private redis-server; it is gone at the end of the test or file. */
export const startRedis = async (options: RedisOptions = {}): Promise<TestRedis> => {
  const dir = await makeTempDir('redis')
  atEnd(() => rm(dir, { recursive: true, force: true }))
  if (options.tls) {
    await writeFile(join(dir, 'server.key'), options.tls.key, { mode: 0o600 })
    await writeFile(join(dir, 'server.crt'), options.tls.cert)
  }
  const tls = options.tls !== undefined
  let port = await freePort()
  let server = await launch(dir, port, options)
  for (let tries = 1; !(await ready(server, { port, tls })); tries += 1) {
    if (tries === 5) throw new Error(`redis-server does not start:\n${server.output}`)
    port = await freePort()
    server = await launch(dir, port, options)
  }
  return {
    url: `${tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`,
    port,
    get pid() {
      return server.pid
    },
    stop: async () => void (await server.stop()),
    kill: async () => void (await server.crash()),
    restart: async () => {
      if (server.running) await server.stop()
      server = await launch(dir, port, options)
      if (!(await ready(server, { port, tls })))
        throw new Error(`redis-server does not restart:\n${server.output}`)
    },
    pause: () => server.suspend(),
    resume: () => server.resume(),
    directory: () => Promise.resolve(dir),
    send: (command) => answer({ port, tls }, command),
  }
}

const launch = (dir: string, port: number, options: RedisOptions): Promise<TestProcess> =>
  startProcess({
    command: 'redis-server',
    args: [
      ...portOf(port, dir, options),
      ...['--bind', '127.0.0.1', '--dir', dir, '--save', ''],
      ...['--appendonly', options.persistence === 'aof' ? 'yes' : 'no', '--appendfsync', 'always'],
      ...['--maxmemory-policy', options.policy ?? 'noeviction', '--daemonize', 'no'],
    ],
  })

const portOf = (port: number, dir: string, { tls }: RedisOptions): string[] =>
  tls
    ? [
        ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'],
        ...['--tls-cert-file', join(dir, 'server.crt'), '--tls-key-file', join(dir, 'server.key')],
      ]
    : ['--port', String(port)]

interface Door {
  readonly port: number
  readonly tls: boolean
}

/**
 * False when the process ended instead, which is what a port taken by somebody else looks like. Its own word counts:
 * whoever has the port already may be a Redis, too.
 */
const ready = async (server: TestProcess, door: Door): Promise<boolean> => {
  const listens = await server.line('Ready to accept connections').catch((error: unknown) => {
    if (server.running) throw error
  })
  if (!listens) return false
  await until(async () => (await answer(door, 'PING')) === '+PONG', {
    what: `redis-server on port ${door.port} to answer`,
  })
  return true
}

const answer = ({ port, tls }: Door, command: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const ask = () => socket.write(`${command}\r\n`)
    const socket: Socket = tls
      ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }, ask)
      : connect(port, '127.0.0.1', ask)
    let text = ''
    socket.setTimeout(2_000, () => socket.destroy(new Error('Redis does not answer.')))
    socket.once('error', reject)
    socket.on('data', (chunk) => {
      text += chunk
      if (!text.includes('\r\n')) return
      socket.destroy()
      resolve(text.slice(0, text.indexOf('\r\n')))
    })
  })
