import type { NetworkFacts, NicFacts } from '../../inventory/facts.ts'
import type { NetworkPlacement, NicType } from '../../inventory/overrides.ts'
import { parseVlans } from '../../inventory/vlan.ts'
import type { PlaceProblem, TargetView } from './place-check.ts'
import { findForProject, isForProject, projectOf } from './place-projects.ts'
import type { Placement } from './placement.ts'
import { isInSubnet } from './subnet.ts'

/** How a NIC can be attached to a kind of network. An overlay has no lower network for a bridged NIC. */
const usableAs: Readonly<Record<NetworkFacts['type'], readonly NicType[]>> = {
  bridge: ['managed', 'bridged', 'physical'],
  standard: ['managed', 'physical'],
  distributed: ['managed', 'physical'],
  nsx: ['managed'],
  'nsx-distributed': ['managed'],
  other: ['managed'],
}

type Nic = Pick<NicFacts, 'mac' | 'label' | 'key' | 'ipv4_addresses' | 'ipv6_addresses'>

/** Problems with the networks of the NICs. */
export const checkNics = (
  nics: readonly Nic[],
  placement: Placement,
  target: Pick<TargetView, 'networks' | 'projects'>,
): PlaceProblem[] =>
  nics.flatMap((nic) => {
    const name = nic.label || nic.mac || nic.key
    const place = Object.hasOwn(placement.networks, nic.mac) ? placement.networks[nic.mac] : undefined
    if (!place)
      return [
        {
          code: 'nic-without-place',
          what: name,
          message: `${name} has no place: map its network, or let the script place it.`,
        },
      ]
    return checkNic({ nic, name, place, project: placement.project }, target)
  })

interface NicPlace {
  readonly nic: Nic
  readonly name: string
  readonly place: NetworkPlacement
  readonly project: string
}

const checkNic = (
  { nic, name, place, project }: NicPlace,
  target: Pick<TargetView, 'networks' | 'projects'>,
): PlaceProblem[] => {
  const say = (code: PlaceProblem['code'], message: string): PlaceProblem => ({ code, what: name, message })
  const own = projectOf(target, project)
  const network = findForProject(target.networks, place.network, own)
  if (!network)
    return [say('network-absent', `${name} goes to "${place.network}": the target has no such network.`)]
  if (!isForProject(network, own)) {
    const message = `${name} goes to "${network.name}", which is not for project "${project}", but for ${network.projects?.join(', ')}.`
    return [say('network-of-another-project', message)]
  }
  return [
    ...(network.accessible
      ? []
      : [say('network-inaccessible', `${name} goes to "${network.name}", which cannot be reached now.`)]),
    ...(usableAs[network.type].includes(place.nictype)
      ? []
      : [
          say(
            'network-unsuited',
            `${name} is to be ${place.nictype} on "${network.name}"; a network of type ${network.type} can be used as ${usableAs[network.type].join(', ')}.`,
          ),
        ]),
    ...(parseVlans(place.vlan_id) === undefined
      ? [
          say(
            'vlan-invalid',
            `${name} is to have the VLAN "${place.vlan_id}", which is no list of VLANs such as 100 or 100,200-210.`,
          ),
        ]
      : checkVlan(name, place, network).map((message) => say('vlan-unavailable', message))),
    ...checkAddresses(nic, name, network).map((message) => say('address-outside-subnet', message)),
  ]
}

/** Every id of `100,200-210`; none of an invalid list. */
const vlanIds = (text: string): number[] =>
  (parseVlans(text) ?? []).flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index),
  )

const checkVlan = (name: string, place: NetworkPlacement, network: NetworkFacts): string[] => {
  if (place.vlan_id === '') return []
  if (place.nictype === 'managed')
    return [`${name} is managed on "${network.name}", which has its own VLAN: leave vlan_id empty.`]
  if (network.vlan === '') return []
  const carried = new Set(vlanIds(network.vlan))
  const missing = vlanIds(place.vlan_id).filter((id) => !carried.has(id))
  return missing.length === 0
    ? []
    : [`${name} needs VLAN ${missing.join(', ')}; "${network.name}" carries ${network.vlan}.`]
}

const checkAddresses = (nic: Nic, name: string, network: NetworkFacts): string[] =>
  [...nic.ipv4_addresses, ...nic.ipv6_addresses].flatMap((address) => {
    const answers = network.subnets.map((subnet) => isInSubnet(address, subnet))
    const ofFamily = answers.filter((answer) => answer !== undefined)
    return ofFamily.length === 0 || ofFamily.includes(true)
      ? []
      : [`${name} has ${address}, which is not in ${network.subnets.join(', ')} of "${network.name}".`]
  })
