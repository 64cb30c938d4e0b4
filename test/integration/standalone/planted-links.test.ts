import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLog } from '../../../src/process/log.ts'
import { keepSecret } from '../../../src/standalone/data-dir.ts'
import { readForeign } from '../../../src/standalone/postgres/foreign-file.ts'
import {
  clearLeftovers,
  clusterOwner,
  ensureCluster,
  prepareDataDir,
} from '../../../src/standalone/postgres/postgres-cluster.ts'
import { identify } from '../../../src/standalone/process-identity.ts'
import { startProcess } from '../../support/processes.ts'
import { tempDir } from '../../support/temp.ts'

const log = createLog({ role: 'test', level: 'silent' })
const postgresUser = { name: 'nobody', uid: 65534, gid: 65534 }

/** A data directory whose cluster belongs to another user, who has gone bad, and a file that is none of theirs. */
const attacked = async () => {
  const dataDir = await tempDir('planted')
  const cluster = join(dataDir, 'postgres')
  mkdirSync(cluster, { mode: 0o700 })
  if (process.getuid?.() === 0) chownSync(cluster, postgresUser.uid, postgresUser.gid)
  const victim = join(await tempDir('victim'), 'shadow')
  writeFileSync(victim, `${process.ppid}\nroot:secret\n`)
  return { dataDir, cluster, victim }
}

test('a link in place of the pid file is not written through', async () => {
  const { cluster, victim } = await attacked()
  symlinkSync(victim, join(cluster, 'postmaster.pid'))
  await clearLeftovers(cluster, log)
  expect(readFileSync(victim, 'utf8')).toBe(`${process.ppid}\nroot:secret\n`)
})

test('a second name of another file in place of the pid file is not written through', async () => {
  const { cluster, victim } = await attacked()
  execFileSync('ln', [victim, join(cluster, 'postmaster.pid')])
  await clearLeftovers(cluster, log)
  expect(readFileSync(victim, 'utf8')).toBe(`${process.ppid}\nroot:secret\n`)
})

test('a pid file cannot have a process of another user ended', async () => {
  const { cluster } = await attacked()
  const named = await startProcess({
    command: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1000)', cluster],
  })
  writeFileSync(join(cluster, 'postmaster.pid'), `${named.pid}\n`)
  await clearLeftovers(cluster, log)
  expect(identify(named.pid)).toBeDefined()
  await named.crash()
})

test('a link in place of the version file is not read, and nothing of it is shown', async () => {
  const { dataDir, cluster, victim } = await attacked()
  symlinkSync(victim, join(cluster, 'PG_VERSION'))
  const made = ensureCluster({ dataDir, binDir: '/nowhere', user: undefined, password: 'x' })
  await expect(made).rejects.toThrow()
  await expect(made).rejects.not.toThrow(/secret/)
})

test('a pipe in place of a file keeps nobody waiting', async () => {
  const { cluster } = await attacked()
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(cluster, 'PG_VERSION')])
  expect(await readForeign(join(cluster, 'PG_VERSION'))).toBeUndefined()
})

test('a cluster that is a link is refused', async () => {
  const { dataDir, cluster } = await attacked()
  const elsewhere = await tempDir('elsewhere')
  renameSync(cluster, join(dataDir, 'moved'))
  symlinkSync(elsewhere, cluster)
  await expect(clusterOwner(dataDir)).rejects.toMatchObject({ code: 'embedded-postgres-initdb' })
})

test("a data directory of another user is not root's to put passwords into", async () => {
  const dataDir = join(await tempDir('foreign'), 'data')
  await mkdir(dataDir)
  chownSync(dataDir, postgresUser.uid, postgresUser.gid)
  await expect(prepareDataDir(dataDir, postgresUser)).rejects.toMatchObject({ code: 'data-dir-foreign' })
})

test('a link under the name of a draft is not written through', async () => {
  const { dataDir, victim } = await attacked()
  symlinkSync(victim, join(dataDir, `secret.key.${process.pid}`))
  expect(keepSecret(join(dataDir, 'secret.key'), () => 'made')).toBe('made')
  expect(readFileSync(victim, 'utf8')).toContain('root:secret')
  expect(statSync(join(dataDir, 'secret.key')).mode & 0o777).toBe(0o600)
})
