import type { Call } from '../../src/platforms/ports/call.ts'
import { retrieveOne } from '../../src/platforms/vsphere/soap/property-read.ts'
import type { Session } from '../../src/platforms/vsphere/soap/session.ts'
import { element } from '../../src/platforms/vsphere/soap/soap-request.ts'
import { textOf } from '../../src/xml/xml-node.ts'

/** Ends every session of the server but this one, as an administrator can. */
export const endOtherSessions = async (session: Session, call: Call): Promise<void> => {
  const on = await session.manager(call, 'sessionManager')
  const read = await retrieveOne(session, call, on, ['sessionList', 'currentSession'])
  if (!read.found) throw new Error('The server has no sessions.')
  const { properties } = read.value
  const own = textOf(properties.get('currentSession'), 'key')
  const keys = (properties.get('sessionList')?.children ?? []).map((one) => textOf(one, 'key'))
  const others = keys.filter((key) => key !== own)
  if (others.length === 0) return
  const body = others.map((key) => element('sessionId', key)).join('')
  await session.call(call, { on, method: 'TerminateSession', body })
}
