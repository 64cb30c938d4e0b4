import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { groupMembers } from '../children.ts'
import type { Piece } from './forms.ts'

/** Every row of every table and view of every schema as text, system ones as well: what any dump is made of. */
export const readTables = async (url: string): Promise<Piece[]> => {
  const db = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const tables = await db<{ schema: string; name: string }[]>`
      select n.nspname as schema, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'v', 'm', 'p') and n.nspname not like 'pg_toast%'
        and not (n.nspname = 'information_schema') order by 1, 2`
    const pieces: Piece[] = []
    for (const { schema, name } of tables) {
      const rows = await db<
        { text: string }[]
      >`select t::text as text from ${db(schema)}.${db(name)} t`.catch((error: postgres.PostgresError) => {
        // Some views of the system are only for a server in recovery, or for one with an extension.
        if (schema === 'pg_catalog') return []
        throw error
      })
      const text = rows.map((row) => row.text).join('\n')
      const place = schema === 'pg_catalog' ? 'system tables' : 'tables'
      pieces.push({ place, where: `${schema}.${name}`, text: `${text}\n${bytesIn(text)}` })
    }
    return pieces
  } finally {
    await db.end({ timeout: 5 })
  }
}

/** What is written as `\x…` is bytes: the same, as those. */
const bytesIn = (text: string): string =>
  [...text.matchAll(/\\x((?:[0-9a-f]{2})+)/g)]
    .map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1'))
    .join('\n')

/** All files below a directory, byte for byte: what was written once and is no row any more is there, too. */
export const readFiles = (place: string, dir: string, wanted: RegExp = /./): Piece[] => {
  if (!existsSync(dir)) return []
  return readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => wanted.test(path))
    .flatMap((path) => {
      const text = readIfThere(path)
      return text === undefined ? [] : [{ place, where: relative(dir, path), text }]
    })
}

/** A living server takes away what it needs no more. */
const readIfThere = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const readKey = async (redis: Redis, key: string): Promise<unknown> => {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key)
    case 'hash':
      return redis.hgetall(key)
    case 'list':
      return redis.lrange(key, 0, -1)
    case 'set':
      return redis.smembers(key)
    case 'zset':
      return redis.zrange(key, 0, -1)
    case 'stream':
      return redis.xrange(key, '-', '+')
    default:
      return null
  }
}

/** All keys of a Redis with what they hold, and what it tells of itself and its clients. */
export const readRedis = async (url: string): Promise<Piece[]> => {
  const redis = new Redis(url, { lazyConnect: true })
  try {
    await redis.connect()
    const pieces: Piece[] = []
    for (const key of await redis.keys('*'))
      pieces.push({
        place: 'redis',
        where: key.replace(/[0-9a-f-]{36}/g, '<id>'),
        text: `${key} ${JSON.stringify(await readKey(redis, key))}`,
      })
    for (const command of [['info'], ['client', 'list'], ['slowlog', 'get']] as const) {
      const [name, ...rest] = command
      pieces.push({
        place: 'redis',
        where: command.join(' '),
        text: JSON.stringify(await redis.call(name, ...rest)),
      })
    }
    return pieces
  } finally {
    redis.disconnect()
  }
}

export interface SeenProcess {
  readonly pid: number
  /** `api`, `worker`, `postgres`, …: by its command line. */
  readonly name: string
  readonly coreLimit: string
  readonly pieces: readonly Piece[]
}

const readProc = (pid: number, file: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

const roleName = (command: string): string =>
  / (api|worker|conductor|lab)$/.exec(command.trim())?.[1] ??
  (/\bpostgres\b/.test(command.split(' -D')[0] ?? '')
    ? 'postgres'
    : /start\.mjs/.test(command)
      ? 'up'
      : 'other')

/** What everybody with our rights, or root, sees of a process: command line, environment, limits. */
export const seeProcess = (pid: number): SeenProcess => {
  const command = readProc(pid, 'cmdline').replaceAll('\0', ' ')
  const name = roleName(command)
  const coreLimit = /Max core file size\s+(\S+)/.exec(readProc(pid, 'limits'))?.[1] ?? 'gone'
  return {
    pid,
    name,
    coreLimit,
    pieces: [
      { place: 'arguments', where: name, text: command },
      { place: 'environment', where: name, text: readProc(pid, 'environ') },
    ],
  }
}

/** A process and what it started, also in groups of their own. */
export const seeFamily = (pid: number): SeenProcess[] => {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((entry) => /^[0-9]+$/.test(entry))) {
    const stat = readProc(Number(name), 'stat')
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
  }
  const family = new Set([pid, ...groupMembers(pid)])
  for (let size = 0; size !== family.size; ) {
    size = family.size
    for (const [child, parent] of parents) if (family.has(parent)) family.add(child)
  }
  return [...family].map(seeProcess)
}
