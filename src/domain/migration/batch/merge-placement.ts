import { canonicalMac } from '../../inventory/addresses.ts'
import type { DiskFacts, NicFacts } from '../../inventory/facts.ts'
import type { EffectiveFacts, NetworkPlacement } from '../../inventory/overrides.ts'
import type { Placement, WhyHere } from '../place/placement.ts'
import type { BatchDefaults } from './batch-settings.ts'

/** The calls of a placement script; the last call of each kind counts. */
export interface ScriptPlacement {
  readonly target?: string
  readonly project?: string
  /** By the script's name for the disk: key, label or name. */
  readonly pools: Readonly<Record<string, string>>
  /** By the script's name for the NIC: MAC address in any notation, key or label. */
  readonly networks: Readonly<Record<string, NetworkPlacement>>
}

/** The target network for the NICs of one source network. */
export interface MappedNetwork extends NetworkPlacement {
  /** Mapped by a person. */
  readonly overridden: boolean
}

export interface PlacementAsk {
  readonly defaults: BatchDefaults['placement']
  readonly facts: Pick<EffectiveFacts, 'disks' | 'nics'>
  /** By the source's ref of the network. */
  readonly networks: ReadonlyMap<string, MappedNetwork>
  /** Null: the batch has no script. */
  readonly script: ScriptPlacement | null
  /** A host chosen by a hint of spread or affinity; empty: the target chooses. */
  readonly host?: { readonly name: string; readonly because: string }
}

export interface PlacementProblem {
  readonly code: 'unknown-disk' | 'unknown-nic' | 'nic-without-place' | 'nic-without-mac'
  readonly message: string
}

export interface MergedPlacement {
  readonly placement: Placement
  readonly why: readonly WhyHere[]
  /** Every problem; a placement with problems is not used. */
  readonly problems: readonly PlacementProblem[]
}

const theDefaults = 'the defaults of the batch'
const theScript = 'the placement script'

/** The placement of an instance: the defaults, then its networks, then the script; with the reasons. */
export const mergePlacement = (ask: PlacementAsk): MergedPlacement => {
  const { defaults, script, host } = ask
  const pools = placeDisks(ask)
  const networks = placeNics(ask)
  return {
    placement: {
      target: script?.target ?? defaults.target,
      project: script?.project ?? defaults.target_project,
      host: host?.name ?? '',
      pools: pools.chosen,
      networks: networks.chosen,
    },
    why: [
      told('target', script?.target, defaults.target),
      told('project', script?.project, defaults.target_project),
      ...(host ? [{ what: 'host', value: host.name, because: host.because }] : []),
      ...pools.why,
      ...networks.why,
    ],
    problems: [...pools.problems, ...networks.problems],
  }
}

interface Part<Value> {
  readonly chosen: Readonly<Record<string, Value>>
  readonly why: readonly WhyHere[]
  readonly problems: readonly PlacementProblem[]
}

const told = (what: string, byScript: string | undefined, byDefault: string): WhyHere => ({
  what,
  value: byScript ?? byDefault,
  because: byScript === undefined ? theDefaults : theScript,
})

const diskNames = ({ key, label, name }: DiskFacts): string[] => [key, label, name]
const nicNames = ({ key, label, mac }: NicFacts): string[] => [mac, key, label]

/** The script's answers by key, and answers for things that this instance does not have. */
const resolve = <Thing, Value>(
  asked: Readonly<Record<string, Value>>,
  find: (called: string) => Thing | undefined,
): { found: Map<Thing, Value>; unknown: string[] } => {
  const found = new Map<Thing, Value>()
  const unknown: string[] = []
  for (const [called, value] of Object.entries(asked)) {
    const thing = find(called)
    if (thing === undefined) unknown.push(called)
    else found.set(thing, value)
  }
  return { found, unknown }
}

const listed = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ') || 'none'

const placeDisks = ({ facts, script, defaults }: PlacementAsk): Part<string> => {
  const { disks } = facts
  const { found, unknown } = resolve(script?.pools ?? {}, (called) => named(disks, called, diskNames))
  return {
    chosen: Object.fromEntries(disks.map((disk) => [disk.key, found.get(disk) ?? defaults.storage_pool])),
    why: disks.map((disk) =>
      told(`pool of ${disk.label || disk.key}`, found.get(disk), defaults.storage_pool),
    ),
    problems: unknown.map((called) => ({
      code: 'unknown-disk',
      message: `The script placed the disk "${called}", which the instance does not have; it has ${listed(
        disks.map(({ label, key }) => label || key),
      )}.`,
    })),
  }
}

/** By the first kind of name that matches: a label may equal another thing's key. */
const named = <Thing>(
  things: readonly Thing[],
  called: string,
  namesOf: (thing: Thing) => string[],
): Thing | undefined => {
  for (let at = 0; at < 3; at += 1) {
    const thing = things.find((candidate) => namesOf(candidate)[at] === called && called !== '')
    if (thing !== undefined) return thing
  }
  return undefined
}

const placeNics = ({ facts, networks, script }: PlacementAsk): Part<NetworkPlacement> => {
  const { nics } = facts
  const { found, unknown } = resolve(script?.networks ?? {}, (called) =>
    named(nics, canonicalMac(called) ?? called, nicNames),
  )
  const placed = nics.map((nic) => {
    const mapped = networks.get(nic.network_ref)
    return { nic, own: found.get(nic), mapped }
  })
  const why = placed.flatMap(({ nic, own, mapped }): WhyHere[] => {
    const place = own ?? mapped
    if (!place) return []
    const because = own
      ? theScript
      : mapped?.overridden
        ? 'a mapping of its network'
        : 'the name of its network'
    return [{ what: `network of ${nic.label || nic.mac}`, value: describeNetwork(place), because }]
  })
  const chosen = placed.flatMap(({ nic, own, mapped }): [string, NetworkPlacement][] => {
    const place = own ?? mapped
    return place && nic.mac !== ''
      ? [[nic.mac, { network: place.network, nictype: place.nictype, vlan_id: place.vlan_id }]]
      : []
  })
  const missing = placed.flatMap(({ nic, own, mapped }): PlacementProblem[] => {
    const name = nic.label || nic.key
    if (nic.mac === '')
      return [
        { code: 'nic-without-mac', message: `${name} has no MAC address, so nothing can be placed by it.` },
      ]
    return own || mapped
      ? []
      : [
          {
            code: 'nic-without-place',
            message: `${name} is on "${nic.network || nic.network_ref || 'no network'}", for which there is no place: map that network, or let the script place the NIC.`,
          },
        ]
  })
  const strangers = unknown.map(
    (called): PlacementProblem => ({
      code: 'unknown-nic',
      message: `The script placed the NIC "${called}", which the instance does not have; it has ${listed(
        nics.map(({ mac }) => mac),
      )}.`,
    }),
  )
  return { chosen: Object.fromEntries(chosen), why, problems: [...strangers, ...missing] }
}

const describeNetwork = ({ network, nictype, vlan_id }: NetworkPlacement): string =>
  vlan_id === '' ? `${network} (${nictype})` : `${network} (${nictype}, VLAN ${vlan_id})`
