import { type Call, withinCall } from '../ports/call.ts'
import type { Connection } from '../ports/connection.ts'
import type { Capability, Ports } from '../ports/ports.ts'
import { openDisks } from './disks/disks.ts'
import { openGuest } from './inventory/guest.ts'
import { openMachines } from './machines/machines.ts'
import { openPower } from './machines/power.ts'
import type { Session } from './soap/session.ts'
import { openTemplates } from './templates/templates.ts'

/** All that changes something in a vSphere, and what is read of single machines. */
export const openOperations = (
  session: Session,
  connection: Connection,
): Pick<Ports, 'power' | 'machines' | 'disks' | 'templates' | 'guest'> => {
  const machines = openMachines(session)
  const { extents, ...disks } = openDisks(session)
  const { imageFormats, ...templates } = openTemplates(session, connection, machines)
  return {
    power: bounded(openPower(session)),
    machines: bounded(machines),
    // A stream of pages goes on as long as its reader wants; each page has the deadline.
    disks: { ...bounded(disks), extents },
    templates: { ...bounded(templates), imageFormats },
    guest: bounded(openGuest(session)),
  }
}

type Method = (call: Call, ...rest: never[]) => Promise<unknown>

/** A verb is several questions to the server: its deadline is for all of them together. */
const bounded = <Port extends { readonly [Name in keyof Port]: Method }>(port: Port): Port => {
  const within =
    (method: Method): Method =>
    async (call, ...rest) =>
      withinCall(call, (signal) => method({ ...call, signal }, ...rest))
  const entries = Object.entries<Method>(port).map(([name, method]) => [name, within(method)])
  return Object.fromEntries(entries) as Port
}

/** No `write-disks`: vSphere takes images whole. No `port-probe`: it does not look into guests. */
export const operationCapabilities: readonly Capability[] = [
  ...(['power', 'guest-shutdown', 'suspend', 'create', 'rename', 'reconfigure', 'clone'] as const),
  ...(['snapshots', 'ownership-tags', 'read-disks', 'changed-blocks', 'templates', 'import-image'] as const),
  'guest-facts',
]
