import { expect, test } from 'vitest'
import type { NetworkFacts } from '../../src/domain/inventory/facts.ts'
import { portOf } from '../../src/platforms/ports/ports.ts'
import { anyCall, makeMachine, startVsphere } from '../support/vsphere-machines.ts'

test('a new card is plugged into an NSX segment as into any other network', async () => {
  const { platform, ports } = await startVsphere({ nsxNetworks: 1 })
  const inventory = portOf(platform, 'inventory')
  const networks: NetworkFacts[] = []
  for await (const items of inventory.scan(anyCall(), { scopes: [], concurrency: 1, itemTimeoutMs: 10_000 }))
    for (const item of items) if (item.type === 'network') networks.push(item.facts)
  const segment = networks.find(({ type }) => type === 'nsx')
  if (!segment) throw new Error('The simulator has no NSX network.')
  for (const network of [segment.ref, segment.name]) {
    const machine = await makeMachine(ports, { nics: [{ mac: '', network, type: 'managed', vlan: '' }] })
    const facts = await inventory.instance(anyCall(), machine)
    expect(facts.found && facts.value.nics).toMatchObject([
      { network_ref: segment.ref, network: segment.name },
    ])
  }
})
