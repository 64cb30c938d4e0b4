import { childrenOf, textOf } from '../../../xml/xml-node.ts'
import type { GuestPort, GuestView } from '../../ports/guest.ts'
import { unsupported } from '../../ports/platform-error.ts'
import { machineRef, readWhole, textAt } from '../soap/machines-reading.ts'
import type { ObjectRead } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import { readGuest } from './instance-guest.ts'

const paths = [
  'guest.toolsRunningStatus',
  'guest.toolsVersionStatus2',
  'guest.toolsVersion',
  'guest.hostName',
  'guest.net',
  'runtime.powerState',
  'runtime.bootTime',
  'summary.runtime.bootTime',
] as const

/** What VMware Tools in the guest tell; it is as old as their last word, and nothing when they are silent. */
export const openGuest = (session: Session): GuestPort => ({
  guest: async (call, machine) => {
    const read = await readWhole(session, call, machineRef(machine), paths)
    if (!read.found) return read
    const { agent, hostname } = readGuest(read.value.properties)
    const isOn = textAt(read.value, 'runtime.powerState') === 'poweredOn'
    const bootTime = textAt(read.value, 'runtime.bootTime') || textAt(read.value, 'summary.runtime.bootTime')
    const value: GuestView = {
      // What the tools said last stays for a while after the machine is off.
      agent: agent === 'running' && !isOn ? 'not-running' : agent,
      hostname,
      addresses: isOn ? addressesOf(read.value) : [],
      boot_id: isOn ? bootTime : '',
      counter: null,
    }
    return { found: true, value }
  },
  openPorts: async () => {
    throw unsupported('vSphere', 'look at the ports of a guest')
  },
})

const addressesOf = (read: ObjectRead): GuestView['addresses'] =>
  (read.properties.get('guest.net')?.children ?? []).flatMap((nic) =>
    childrenOf(nic, 'ipAddress').map((address) => ({
      mac: textOf(nic, 'macAddress').toLowerCase(),
      address: address.text,
    })),
  )
