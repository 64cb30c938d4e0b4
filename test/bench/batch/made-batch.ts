import { v7 as uuidv7 } from 'uuid'
import type { Db } from '../../../db/client.ts'
import { batchConfig, batchDefaults } from '../../../src/domain/migration/batch/batch-settings.ts'

/** Puts each NIC on the network of the target that has its name. */
const script = `function placement(instance) {
  for (const nic of instance.nics) setNetwork(nic.mac, nic.network, 'bridged', 100 + Number(nic.network.slice(4)))
}`

/** A batch of all that an expression matches, as the API stores it, started. */
export const makeStartedBatch = async (
  db: Db,
  given: {
    readonly name: string
    readonly target: string
    readonly pool: string
    readonly include: string
    readonly scripted: boolean
  },
): Promise<string> => {
  const id = uuidv7()
  const defaults = batchDefaults.parse({ placement: { target: given.target, storage_pool: given.pool } })
  const config = batchConfig.parse({
    placement_scriptlet: given.scripted ? script : '',
    guest_shutdown_limit: '30s',
    instance_restriction_overrides: {
      allow_unknown_os: true,
      allow_no_ipv4: true,
      allow_no_background_import: true,
    },
  })
  await db`
    insert into batch (id, name, state, include_expression, defaults, config, created_by, started_at)
    values (${id}::uuid, ${given.name}, 'running', ${given.include}, ${JSON.stringify(defaults)}::text::jsonb,
      ${JSON.stringify({ ...config, probes: [] })}::text::jsonb, 'bench', now())`
  return id
}
