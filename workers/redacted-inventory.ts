import type { InventoryItem, InventoryPort, Scan } from '../src/platforms/ports/inventory.ts'
import { PlatformError } from '../src/platforms/ports/platform-error.ts'
import type { Platform } from '../src/platforms/ports/ports.ts'
import { withoutSecret } from './without-secret.ts'

/** The platform with secrets removed from all inventory data, because that data is stored and shown. */
export const withRedactedInventory = (platform: Platform, secrets: readonly string[]): Platform => {
  const { inventory } = platform.ports
  if (!inventory) return platform
  const port: InventoryPort = {
    scan: (call, options) => cleaned(inventory.scan(call, options), secrets),
    changes: (call, options) => cleaned(inventory.changes(call, options), secrets),
    instance: (call, ref) => inventory.instance(call, ref),
  }
  return {
    kind: platform.kind,
    capabilities: platform.capabilities,
    ports: { ...platform.ports, inventory: port },
    probe: (call) => platform.probe(call),
    close: () => platform.close(),
  }
}

async function* cleaned(scan: Scan, secrets: readonly string[]): Scan {
  try {
    for (;;) {
      const step = await scan.next()
      if (step.done) return step.value
      yield step.value.some(({ type }) => type === 'problem')
        ? step.value.map((item) => cleanItem(item, secrets))
        : step.value
    }
  } finally {
    await scan.return({ cursor: null })
  }
}

const cleanItem = (item: InventoryItem, secrets: readonly string[]): InventoryItem => {
  if (item.type !== 'problem') return item
  const error = withoutSecret(item.error, secrets)
  return error instanceof PlatformError ? { ...item, error } : item
}
