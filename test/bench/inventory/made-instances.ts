import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../../db/client.ts'
import { sourceSettings } from '../../../src/domain/inventory/site-settings.ts'
import { syncSite } from '../../../src/inventory/sync/sync-site.ts'
import type { Platform } from '../../../src/platforms/ports/ports.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { instanceFacts } from '../../support/imagined-site.ts'
import { addOne, contextOf, mustClaim } from '../../support/ledger.ts'

const chunk = 1_000

/** A platform that exists only as an answer: so many machines, one like the other but for what tells them apart. */
const imagine = (instances: number): Platform => ({
  kind: 'lab',
  capabilities: new Set(['inventory']),
  ports: {
    inventory: {
      scan: async function* () {
        for (let at = 0; at < instances; at += chunk)
          yield Array.from({ length: Math.min(chunk, instances - at) }, (_, offset) => ({
            type: 'instance' as const,
            facts: varied(at + offset + 1),
          }))
        return { cursor: null }
      },
      changes: () => {
        throw new Error('This platform has no deltas.')
      },
      instance: () => Promise.resolve({ found: false }),
    },
  },
  probe: () => Promise.resolve({ product: 'imagined', version: '1', instance_id: 'imagined' }),
  close: () => Promise.resolve(),
})

const varied = (number: number) => {
  const place = number % 3 === 0 ? 'Paris' : 'Oslo'
  return {
    ...instanceFacts({
      ref: `vm-${number}`,
      name: `machine-${number}`,
      cpus: 1 + (number % 8),
      background_import: number % 5 !== 0,
      ...(number % 11 === 0 ? { os: '', os_description: '', os_template: 'Other (64-bit)' } : {}),
    }),
    location: `/${place}/vm/shop-${number % 100}/machine-${number}`,
  }
}

/** Brings them into the inventory the way every machine comes there: by a sync. */
export const makeInstances = async (db: Db, instances: number): Promise<void> => {
  await db`
    insert into site (id, role, name, kind, endpoint, username, settings, connectivity, created_by)
    values (${uuidv7()}::uuid, 'source', 'imagined', 'lab', 'http://127.0.0.1:9', 'bench',
      ${db.json(sourceSettings.parse({}) as never)}, 'ok', 'bench')`
  const platform = imagine(instances)
  const id = await addOne(db, { subject: { type: 'source', id: 'imagined' } })
  const job = await mustClaim(db, id, { leaseMs: 3_600_000 })
  const context = contextOf(db, job, (_site, work) => work(platform))
  await syncSite(context, createSealer('0'.repeat(64)), {
    role: 'source',
    name: 'imagined',
    mode: 'full',
    force: false,
  })
  await db`vacuum analyze`
}
