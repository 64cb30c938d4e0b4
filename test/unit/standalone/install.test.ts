import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { tempDir } from '../../support/temp.ts'

/** Plain JavaScript without types: it runs before any package is there. */
const script = new URL('../../../src/standalone/install.mjs', import.meta.url).href
const { ensureInstalled } = (await import(script)) as {
  ensureInstalled: (root: string, options?: { dev?: boolean }) => Promise<boolean>
}

/** Takes the place of npm: notes how it was called, and makes the tree that the lock file asks for. */
const fakeNpm = `
  const { appendFileSync, copyFileSync, mkdirSync, existsSync } = require('node:fs')
  appendFileSync('calls', process.argv.slice(2).join(' ') + '\\n')
  if (existsSync('broken')) process.exit(7)
  mkdirSync('node_modules', { recursive: true })
  copyFileSync('package-lock.json', 'node_modules/.package-lock.json')
`

const packages = {
  '': { name: 'x' },
  'node_modules/hono': { version: '4.0.0' },
  'node_modules/vitest': { version: '4.1.0', dev: true },
  'node_modules/@x/darwin-arm64': { version: '1.0.0', optional: true },
  'node_modules/@y/win32': { version: '1.0.0', os: ['win32'] },
}

let root: string

const writeJson = (path: string, value: unknown) => {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), JSON.stringify(value))
}

const calls = (): string[] =>
  existsSync(join(root, 'calls')) ? readFileSync(join(root, 'calls'), 'utf8').trim().split('\n') : []

beforeEach(async () => {
  root = await tempDir('install')
  writeFileSync(join(root, 'npm.js'), fakeNpm)
  vi.stubEnv('npm_execpath', join(root, 'npm.js'))
  writeJson('package.json', { name: 'x' })
  writeJson('package-lock.json', { packages })
})

afterEach(() => {
  vi.unstubAllEnvs()
})

test('a fresh clone is installed once, and its lock file stays as it is', async () => {
  expect(await ensureInstalled(root)).toBe(true)
  expect(await ensureInstalled(root)).toBe(false)
  expect(calls()).toEqual([expect.stringMatching(/^ci --include=dev --include=optional --ignore-scripts /)])
})

test('a changed lock file makes the packages stale', async () => {
  await ensureInstalled(root)
  writeJson('package-lock.json', { packages: { ...packages, 'node_modules/hono': { version: '4.0.1' } } })
  expect(await ensureInstalled(root)).toBe(true)
  expect(calls()).toHaveLength(2)
})

test('what somebody installed by hand is not installed again', async () => {
  const { 'node_modules/@x/darwin-arm64': _, 'node_modules/@y/win32': __, ...here } = packages
  writeJson('node_modules/.package-lock.json', { packages: here })
  expect(await ensureInstalled(root)).toBe(false)
  expect(calls()).toEqual([])
})

test('what is enough to start is not enough to test', async () => {
  const { 'node_modules/vitest': _, ...here } = packages
  writeJson('node_modules/.package-lock.json', { packages: here })
  expect(await ensureInstalled(root, { dev: false })).toBe(false)
  expect(await ensureInstalled(root)).toBe(true)
})

test('two at once install once', async () => {
  const done = await Promise.all([ensureInstalled(root), ensureInstalled(root)])
  expect(done.sort()).toEqual([false, true])
  expect(calls()).toHaveLength(1)
})

test('a failed install is said with the command to look into it, and tried again the next time', async () => {
  writeFileSync(join(root, 'broken'), '')
  await expect(ensureInstalled(root)).rejects.toThrow(/npm ci failed \(7\)\. Run "npm ci"/)
  await expect(ensureInstalled(root)).rejects.toThrow(/npm ci failed/)
  expect(existsSync(join(root, '.cache', 'install.lock'))).toBe(false)
})

test('an installer that was killed holds up nobody', async () => {
  mkdirSync(join(root, '.cache'))
  writeFileSync(join(root, '.cache', 'install.lock'), String(2 ** 30))
  expect(await ensureInstalled(root)).toBe(true)
})
