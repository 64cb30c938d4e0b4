import { expect, test } from 'vitest'
import { createSealer } from '../../src/seal/seal.ts'
import { makeBatch, onShop } from '../support/batch-world.ts'
import { settles } from '../support/chaos-batch.ts'
import { createEntryWorld } from '../support/entry-world.ts'
import { makeSite } from '../support/inventory.ts'
import { createLab } from '../support/lab.ts'
import { checkMigration } from '../support/migration-invariants.ts'
import { createDatabase } from '../support/postgres.ts'
import { expectAlive, startRoles } from '../support/roles.ts'
import { startProxy } from '../support/tcp-proxy.ts'

const sealer = createSealer('5e'.repeat(32))
const database = await createDatabase()
const lab = await createLab()
const world = await createEntryWorld(database.db, lab, { sealer })

const living = ['vm-101', 'vm-102', 'vm-104']
const dead = ['vm-103', 'vm-106', 'vm-107', 'vm-109', 'vm-110', 'vm-111', 'vm-108']

/** By the machines' names: three targets, of which one takes in most of them. */
const script = `${onShop.slice(0, -1)}
  if (instance.name === 'web-02') setTarget('second')
  else if (!['web-01', 'cache-01'].includes(instance.name)) setTarget('silent')
}`

// promise: silent-target
test('one silent target of three keeps only its own entries waiting', { timeout: 360_000 }, async () => {
  const { db } = database
  const proxy = await startProxy({ targetPort: Number(new URL(lab.url).port) })
  const site = { role: 'target', password: lab.password, connectivity: 'ok', quiet: true, sealer } as const
  await makeSite(db, { ...site, name: 'second', endpoint: lab.endpoint('cloud') })
  const endpoint = `http://127.0.0.1:${proxy.port}/sites/cloud`
  await makeSite(db, { ...site, name: 'silent', endpoint })
  proxy.blackhole()
  const env = {
    DATABASE_URL: database.url,
    DROVER_SECRET_KEY: '5e'.repeat(32),
    DROVER_LEASE_MS: '10000',
    // Fewer hands than the silent target has entries.
    DROVER_CONCURRENCY: 'place-instance=4',
  }
  const { conductors, workers } = await startRoles(env, { workers: 1 })
  const batch = await makeBatch(world, { name: 'wave-3', refs: [...living, ...dead], script })
  await batch.start()
  await settles(world, batch, Object.fromEntries(living.map((ref) => [ref, 'finished'])))
  for (const ref of dead) {
    const { state, sourceStoppedAt, machineRef } = await batch.entry(ref)
    expect(['waiting', 'blocked', 'creating']).toContain(state)
    expect([sourceStoppedAt, machineRef]).toEqual([null, null])
  }
  // When it answers again, they go on by themselves.
  proxy.heal()
  await settles(world, batch, Object.fromEntries(dead.map((ref) => [ref, 'finished'])))
  expect(await checkMigration(db)).toEqual([])
  expectAlive(...conductors, ...workers)
})
