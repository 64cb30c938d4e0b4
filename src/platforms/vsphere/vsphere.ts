import { openHttp } from '../http/platform-http.ts'
import type { Call } from '../ports/call.ts'
import type { Connection } from '../ports/connection.ts'
import type { Platform } from '../ports/ports.ts'
import { inventoryPort } from './inventory/inventory.ts'
import { openOperations, operationCapabilities } from './operations.ts'
import { Session } from './soap/session.ts'
import { Vapi } from './soap/vapi.ts'

/** Opens a vCenter or an ESXi host; connects when it is first asked. */
export const openVsphere = (connection: Connection): Platform => {
  const http = openHttp(connection)
  const session = new Session(http, connection)
  const vapi = new Vapi(http, connection)
  return {
    kind: 'vsphere',
    capabilities: new Set(['inventory', 'inventory-delta', ...operationCapabilities]),
    ports: {
      ...openOperations(session, connection),
      inventory: inventoryPort({ http, account: connection, session, vapi }),
    },
    probe: async (call: Call) => {
      const { product, version, instanceUuid } = await session.identify(call)
      return { product, version, instance_id: instanceUuid }
    },
    close: async () => {
      await Promise.all([session.logout(), vapi.close()])
      http.close()
    },
  }
}
