import type { Connection } from '../ports/connection.ts'
import { capabilities, type Platform } from '../ports/ports.ts'
import { labDisks } from './lab-disks.ts'
import { labGuest } from './lab-guest.ts'
import { labHibernate } from './lab-hibernate.ts'
import { labInventory } from './lab-inventory.ts'
import { LabLink } from './lab-link.ts'
import { labLiveMove } from './lab-live-move.ts'
import { labMachines } from './lab-machines.ts'
import { labPower } from './lab-power.ts'
import { labTemplates } from './lab-templates.ts'
import { about } from './protocol.ts'

/** One site of a lab as a platform: it can do all there is. Signs in when it is first asked. */
export const openLab = (connection: Connection): Platform => {
  const link = new LabLink(connection)
  return {
    kind: 'lab',
    capabilities: new Set(capabilities),
    ports: {
      inventory: labInventory(link),
      power: labPower(link),
      machines: labMachines(link),
      disks: labDisks(link),
      templates: labTemplates(link),
      hibernate: labHibernate(link),
      liveMove: labLiveMove(link),
      guest: labGuest(link),
    },
    probe: async (call) => {
      const { product, version, instance_id } = await link.ask(call, { method: 'GET', path: '/about' }, about)
      return { product, version, instance_id }
    },
    close: () => link.close(),
  }
}
