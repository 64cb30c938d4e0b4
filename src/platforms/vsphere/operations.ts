import type { Connection } from '../connection.ts'
import type { Capability, Ports } from '../ports.ts'
import { openDisks } from './disks.ts'
import { openGuest } from './guest.ts'
import { openMachines } from './machines.ts'
import { openPower } from './power.ts'
import type { Session } from './session.ts'
import { openTemplates } from './templates.ts'

/** All that changes something in a vSphere, and what is read of single machines. */
export const openOperations = (
  session: Session,
  connection: Connection,
): Pick<Ports, 'power' | 'machines' | 'disks' | 'templates' | 'guest'> => {
  const machines = openMachines(session)
  return {
    power: openPower(session),
    machines,
    disks: openDisks(session),
    templates: openTemplates(session, connection, machines),
    guest: openGuest(session),
  }
}

/** No `write-disks`: vSphere takes images whole. No `port-probe`: it does not look into guests. */
export const operationCapabilities: readonly Capability[] = [
  ...(['power', 'guest-shutdown', 'suspend', 'create', 'rename', 'reconfigure', 'clone'] as const),
  ...(['snapshots', 'ownership-tags', 'read-disks', 'changed-blocks', 'templates', 'import-image'] as const),
  'guest-facts',
]
