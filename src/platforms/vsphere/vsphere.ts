import type { Call } from '../call.ts'
import type { Connection } from '../connection.ts'
import { openHttp } from '../http/platform-http.ts'
import type { Platform } from '../ports.ts'
import { Session } from './session.ts'

/** Opens a vCenter or an ESXi host; connects when it is first asked. */
export const openVsphere = (connection: Connection): Platform => {
  const http = openHttp(connection)
  const session = new Session(http, connection)
  return {
    kind: 'vsphere',
    capabilities: new Set(),
    ports: {},
    probe: async (call: Call) => {
      await session.signIn(call)
      const { product, version, instanceUuid } = await session.content(call)
      return { product, version, instance_id: instanceUuid }
    },
    close: async () => {
      await session.logout()
      http.close()
    },
  }
}
