import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockDataDir } from '../../../src/standalone/data-lock.ts'
import { identify } from '../../../src/standalone/process-identity.ts'
import { tempDir } from '../../support/temp.ts'

const inUse = expect.objectContaining({ code: 'data-dir-in-use' })
const dead = { pid: 2 ** 30, started: 'long ago', since: 'then' }

const leaveLock = (dir: string, holder: unknown, name = 'drover.lock') =>
  writeFileSync(join(dir, name), JSON.stringify(holder))

test('the second one is told who runs there, and changes nothing', async () => {
  const dir = await tempDir()
  const lock = lockDataDir(dir)
  expect(() => lockDataDir(dir)).toThrow(/still starting/)
  lock.publish({ address: 'http://127.0.0.1:7070', socket: '/nowhere/api.sock' })
  const before = readFileSync(join(dir, 'drover.lock'), 'utf8')
  expect(() => lockDataDir(dir)).toThrow(inUse)
  expect(() => lockDataDir(dir)).toThrow(new RegExp(`process ${process.pid}.*http://127.0.0.1:7070`))
  expect(readdirSync(dir)).toEqual(['drover.lock'])
  expect(readFileSync(join(dir, 'drover.lock'), 'utf8')).toBe(before)
})

test('a released directory is free', async () => {
  const dir = await tempDir()
  lockDataDir(dir).release()
  expect(readdirSync(dir)).toEqual([])
  lockDataDir(dir).release()
})

test('the lock of a process that is gone is taken over', async () => {
  const dir = await tempDir()
  leaveLock(dir, dead)
  lockDataDir(dir)
  expect(JSON.parse(readFileSync(join(dir, 'drover.lock'), 'utf8'))).toMatchObject({ pid: process.pid })
  expect(readdirSync(dir)).toEqual(['drover.lock'])
})

test('a living process that only has the number of the holder holds nothing', async () => {
  const dir = await tempDir()
  leaveLock(dir, { pid: process.ppid, started: 'before the restart', since: 'then' })
  lockDataDir(dir).release()
})

test('a lock that lost its content holds nothing', async () => {
  const dir = await tempDir()
  writeFileSync(join(dir, 'drover.lock'), '')
  lockDataDir(dir).release()
})

test('a takeover that was killed half way is finished by the next one', async () => {
  const dir = await tempDir()
  leaveLock(dir, dead)
  leaveLock(dir, { ...dead, pid: 2 ** 30 + 1 }, `drover.lock.after-${dead.pid}-longago`)
  lockDataDir(dir)
  expect(readdirSync(dir)).toEqual(['drover.lock'])
})

test('a takeover in progress by a living process is respected', async () => {
  const dir = await tempDir()
  leaveLock(dir, dead)
  leaveLock(dir, { ...identify(process.pid), since: 'now' }, `drover.lock.after-${dead.pid}-longago`)
  expect(() => lockDataDir(dir)).toThrow(inUse)
})

test('a lock that another one has taken over since is not released by its old holder', async () => {
  const dir = await tempDir()
  const lock = lockDataDir(dir)
  leaveLock(dir, dead)
  lock.release()
  lock.publish({ address: 'http://127.0.0.1:1', socket: '/nowhere/api.sock' })
  expect(JSON.parse(readFileSync(join(dir, 'drover.lock'), 'utf8'))).toEqual(dead)
})
