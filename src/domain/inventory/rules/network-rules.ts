import type { NicFacts } from '../facts.ts'
import { defineRule, each, when } from './rule.ts'

const nic = ({ label, key, mac }: NicFacts): string => `NIC ${label || key}${mac ? ` (${mac})` : ''}`
const hasAddress = ({ ipv4_addresses, ipv6_addresses }: NicFacts): boolean =>
  ipv4_addresses.length + ipv6_addresses.length > 0

export const networkRules = [
  defineRule({
    id: 'no-ipv4',
    severity: 'critical',
    allowance: 'allow_no_ipv4',
    title: 'No network card has a known IPv4 address',
    remedy:
      'Start the instance and its guest agent, then sync; or allow_no_ipv4 for the batch when it needs none.',
    test: ({ nics }) =>
      when(nics.length > 0 && nics.every(({ ipv4_addresses }) => ipv4_addresses.length === 0), () =>
        nics.some(({ ipv6_addresses }) => ipv6_addresses.length > 0)
          ? 'The network cards have IPv6 addresses only.'
          : 'No address of any network card is known.',
      ),
  }),
  defineRule({
    id: 'nic-without-address',
    severity: 'warning',
    title: 'A connected network card has no known address',
    remedy: 'Look inside the guest: what has no address cannot be checked after the migration.',
    test: ({ nics }) =>
      nics.some(hasAddress)
        ? each(
            nics,
            (card) => card.connected && !hasAddress(card),
            (card) => `${nic(card)} has no address.`,
          )
        : [],
  }),
  defineRule({
    id: 'nic-not-connected',
    severity: 'info',
    title: 'A network card is not connected',
    remedy: 'It is not connected on the target either. Remove it if nobody needs it.',
    test: ({ nics }) =>
      each(
        nics,
        ({ connected }) => !connected,
        (card) => `${nic(card)} is not connected.`,
      ),
  }),
  defineRule({
    id: 'nic-without-network',
    severity: 'critical',
    title: 'A network card is on no known network',
    remedy: 'Connect it to a network or remove it: without one nobody knows where it lands.',
    test: ({ nics }) =>
      each(
        nics,
        ({ network_ref }) => network_ref === '',
        (card) => `${nic(card)} names no network.`,
      ),
  }),
  defineRule({
    id: 'nic-without-mac',
    severity: 'critical',
    title: 'A network card has no MAC address',
    remedy: 'Start the instance once, so that the platform gives it one, then sync.',
    test: ({ nics }) =>
      each(
        nics,
        ({ mac }) => mac === '',
        (card) => `${nic(card)} has none.`,
      ),
  }),
  defineRule({
    id: 'too-many-nics',
    severity: 'warning',
    title: 'There are very many network cards',
    remedy: 'Check that the target takes so many.',
    test: ({ nics }) =>
      when(nics.length > 10, () => `The instance has ${nics.length} network cards; 10 are usual at most.`),
  }),
  defineRule({
    id: 'mac-clash',
    severity: 'warning',
    title: 'Another instance has the same MAC address',
    remedy: 'Give one of them a new address: on one network they would take each other off.',
    test: ({ nics }, { fleet }) => [
      ...each(
        nics,
        ({ mac }) => (fleet.mac.get(mac) ?? 0) > 1,
        (card) => `${nic(card)}: ${(fleet.mac.get(card.mac) ?? 0) - 1} more in the fleet.`,
      ),
      ...each(
        nics,
        (card) => card.mac !== '' && nics.some((other) => other !== card && other.mac === card.mac),
        (card) => `${nic(card)} is there twice in this instance.`,
      ),
    ],
  }),
  defineRule({
    id: 'address-clash',
    severity: 'info',
    title: 'Another instance has the same address',
    remedy: 'Fine on separate networks, and for an address that moves between members of a cluster.',
    test: ({ nics }, { fleet }) =>
      each(
        [...new Set(nics.flatMap((card) => [...card.ipv4_addresses, ...card.ipv6_addresses]))],
        (address) => (fleet.address.get(address) ?? 0) > 1,
        (address) => `${address}: ${(fleet.address.get(address) ?? 0) - 1} more in the fleet.`,
      ),
  }),
]
