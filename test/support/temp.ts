import { readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { processIsThere } from '../../src/standalone/process-identity.ts'
import { atEnd } from './cleanup.ts'

const memory = '/dev/shm'
/** What a run holds there at most, several times over. */
const roomBytes = 6 * 1024 ** 3

/** Programs run from there too. */
const isMemoryToRunFrom = (line: string): boolean => {
  const [, path, type, options = ''] = line.split(' ')
  return path === memory && type === 'tmpfs' && !options.split(',').includes('noexec')
}

/**
 * Memory, on a machine that has it: a test database is 700 files, and to make and drop them in a file system with a
 * journal takes five times as long.
 */
const tempRoot = (): string => {
  if (process.platform !== 'linux' || freemem() < roomBytes) return tmpdir()
  if (!readFileSync('/proc/mounts', 'utf8').split('\n').some(isMemoryToRunFrom)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize < roomBytes ? tmpdir() : memory
}

/** Memory that the processes of killed runs hold for nobody. */
export const clearMemory = (): void => {
  if (tempRoot() !== memory) return
  for (const name of readdirSync(memory)) {
    const [, pid] = /^drover-[a-z-]+-(\d+)-[^-]+$/i.exec(name) ?? []
    if (pid !== undefined && !processIsThere(Number(pid)))
      rmSync(join(memory, name), { recursive: true, force: true })
  }
}

/** Made here, removed by whoever called. Others may look into it: Postgres runs as another user when we are root. */
export const makeTempDir = async (purpose: string): Promise<string> => {
  const dir = await mkdtemp(join(tempRoot(), `drover-${purpose}-${process.pid}-`))
  await chmod(dir, 0o755)
  return dir
}

/** A fresh directory that goes away at the end of the test or file. */
export const tempDir = async (purpose = 'test'): Promise<string> => {
  const dir = await makeTempDir(purpose)
  atEnd(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** Below what systems give to outgoing connections: those would take the port of a server that a test stopped. */
const ports = { from: 15_000, to: 32_000 }

/** A loopback port that was free a moment ago. Whoever listens on it must be ready to lose the race and ask again. */
export const freePort = async (): Promise<number> => {
  for (let tries = 1; ; tries += 1) {
    const port = ports.from + Math.floor(Math.random() * (ports.to - ports.from))
    try {
      return await listenOnce(port)
    } catch (error) {
      if (tries === 20) throw error
    }
  }
}

const listenOnce = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })
