import { createHash } from 'node:crypto'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'
import type { BatchDefaults } from '../../domain/migration/batch/batch-settings.ts'
import {
  type MappedNetwork,
  mergePlacement,
  type PlacementAsk,
} from '../../domain/migration/batch/merge-placement.ts'
import type { Reason } from '../../domain/migration/entry/entry-facts.ts'
import { checkPlace, type TargetView } from '../../domain/migration/place/place-check.ts'
import { checkNics } from '../../domain/migration/place/place-networks.ts'
import type { Placement, WhyHere } from '../../domain/migration/place/placement.ts'
import type { NewNic } from '../../platforms/ports/machines.ts'
import { placeOfProblem } from './script-runner.ts'
import type { ScriptAnswer } from './script-types.ts'

/** A placement as it is stored with its entry. */
export interface KeptPlacement extends Placement {
  readonly why: readonly WhyHere[]
  readonly log: readonly string[]
}

export interface WhereAsk {
  readonly defaults: BatchDefaults['placement']
  readonly facts: EffectiveFacts
  /** By the source's ref of the network. */
  readonly networks: ReadonlyMap<string, MappedNetwork>
  /** Null: the batch has no script. */
  readonly script: ScriptAnswer | null
  readonly host?: NonNullable<PlacementAsk['host']>
}

export interface Where {
  readonly placement: KeptPlacement
  readonly problems: readonly Reason[]
}

/**
 * Decides the placement of an instance: the defaults, then its networks, then the script. Does not look at the target.
 */
export const decideWhere = ({ defaults, facts, networks, script, host }: WhereAsk): Where => {
  const merged = mergePlacement({
    defaults,
    facts,
    networks,
    script: script?.ok ? script.placement : null,
    ...(host ? { host } : {}),
  })
  const failed: Reason[] =
    script && !script.ok
      ? [
          {
            code: 'placement-script-failed',
            message: `The placement script failed: ${script.problem.message}${placeOfProblem(script.problem)}`,
          },
        ]
      : []
  const problems = merged.problems.map(({ code, message }) => ({ code, message }))
  return {
    placement: { ...merged.placement, why: merged.why, log: script?.log ?? [] },
    problems: [...failed, ...problems],
  }
}

/** Every problem with a placement on the target as it is now. */
export const findObstacles = (
  placement: Placement,
  facts: EffectiveFacts,
  target: TargetView | undefined,
  migration: BatchDefaults['migration_network'],
): Reason[] => {
  const problems = checkPlace({ placement, facts, target, late: false })
  const { migrationNic } = nicsOf(placement, facts, migration, '')
  const nic = {
    mac: migrationNic?.mac ?? '',
    label: 'The migration network',
    key: '',
    ipv4_addresses: [],
    ipv6_addresses: [],
  }
  const onTheWay =
    migrationNic && target
      ? checkNics(
          [nic],
          {
            ...placement,
            networks: {
              [nic.mac]: {
                network: migrationNic.network,
                nictype: migrationNic.type,
                vlan_id: migrationNic.vlan,
              },
            },
          },
          target,
        )
      : []
  return [...problems, ...onTheWay].map(({ code, message }) => ({ code, message }))
}

/**
 * The NICs of the machine during the copy: one NIC on the migration network of its target and project if the batch
 * names one, otherwise the final NICs. The cutover sets the final NICs in any case.
 */
export const nicsOf = (
  placement: Placement,
  facts: Pick<EffectiveFacts, 'nics'>,
  migration: BatchDefaults['migration_network'],
  entryId: string,
): { readonly migrationNic: NewNic | undefined; readonly nics: readonly NewNic[] } => {
  const own = migration.find(
    (one) => one.target === placement.target && one.target_project === placement.project,
  )
  const migrationNic = own && {
    mac: ownMac(entryId),
    network: own.network,
    type: own.nictype,
    vlan: own.vlan_id,
  }
  const final = facts.nics.flatMap(({ mac }): NewNic[] => {
    const place = Object.hasOwn(placement.networks, mac) ? placement.networks[mac] : undefined
    return place ? [{ mac, network: place.network, type: place.nictype, vlan: place.vlan_id }] : []
  })
  return { migrationNic, nics: migrationNic ? [migrationNic] : final }
}

/** From the locally administered range; the same on every try. */
const ownMac = (entryId: string): string => {
  const digest = createHash('sha256').update(`migration-nic/${entryId}`).digest('hex')
  return ['02', ...(digest.slice(0, 10).match(/../g) ?? [])].join(':')
}
