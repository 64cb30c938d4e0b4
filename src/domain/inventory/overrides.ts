import { z } from 'zod'
import type { InstanceFacts, NetworkFacts } from './facts.ts'
import { detectOs, distributions, effectiveOs, type OsFacts, osProblem, osTypes } from './os.ts'
import { parseVlans, tidyVlans } from './vlan.ts'

/** Whether a name is a valid host name: one DNS label, and not only digits. */
export const isHostName = (name: string): boolean =>
  /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(name) && !/^\d+$/.test(name)

/** The name of an instance on a target: characters that a host name cannot hold are dropped. */
export const targetName = (name: string): string => name.replace(/[^-a-zA-Z0-9]/g, '')

const storable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')
const plain = (limit: number) =>
  z.string().max(limit).refine(storable, 'Remove NUL characters and unpaired surrogates.')

/** A person's decisions about an instance. A missing field keeps the source's value. */
export const instanceOverridesSchema = z
  .strictObject({
    name: z
      .string()
      .refine(isHostName, 'Use 1 to 63 letters, digits and inner dashes, not only digits.')
      .optional(),
    cpus: z.int().min(1).max(4_096).optional(),
    /** Bytes. */
    memory: z
      .int()
      .min(1_048_576)
      .max(2 ** 50)
      .optional(),
    architecture: z.enum(['x86_64', 'i686', 'aarch64']).optional(),
    os_type: z.enum(osTypes).optional(),
    distribution: z.enum(distributions).optional(),
    distribution_version: z.string().max(40).optional(),
    /** Merged over the source's attributes, key by key. Visible to filters and placement scripts. */
    attributes: z
      .record(plain(512).min(1), plain(2_048))
      .refine((attributes) => Object.keys(attributes).length <= 256, 'At most 256 attributes.')
      .optional(),
    comment: plain(2_048).optional(),
    disable_migration: z.boolean().optional(),
    ignore_restrictions: z.boolean().optional(),
    /** Whether the target runs at the end, whatever the source did. */
    started_after: z.boolean().optional(),
    stopped_after: z.boolean().optional(),
  })
  .superRefine((overrides, context) => {
    if (overrides.started_after && overrides.stopped_after)
      context.addIssue({
        code: 'custom',
        path: ['stopped_after'],
        message: 'started_after and stopped_after cannot both be true.',
      })
    if (overrides.os_type === undefined) return
    // With the type given, the rest can be checked without the facts; `overridesProblem` checks it with them.
    const problem = osProblem({
      os_type: overrides.os_type,
      distribution: overrides.distribution ?? 'other',
      distribution_version:
        overrides.distribution === undefined ? '' : (overrides.distribution_version ?? ''),
    })
    if (problem) context.addIssue({ code: 'custom', path: [problem.field], message: problem.message })
  })

export type InstanceOverrides = z.infer<typeof instanceOverridesSchema>

const beyondRecord: readonly string[] = ['comment', 'started_after', 'stopped_after']

/** Overrides outside the frozen record: a running batch does not prevent their change. */
export const isBeyondRecord = (field: string): boolean => beyondRecord.includes(field)

/** An instance as filters, rules and placement see it. */
export interface EffectiveFacts extends InstanceFacts, OsFacts {
  /** The name on a target. */
  readonly target_name: string
}

/** The facts after overrides. */
export const applyOverrides = (facts: InstanceFacts, overrides: InstanceOverrides): EffectiveFacts => ({
  ...facts,
  ...effectiveOs(detectOs(facts), overrides),
  name: overrides.name ?? facts.name,
  target_name: overrides.name ?? targetName(facts.name),
  cpus: overrides.cpus ?? facts.cpus,
  memory: overrides.memory ?? facts.memory,
  architecture: overrides.architecture ?? facts.architecture,
  attributes: overrides.attributes ? { ...facts.attributes, ...overrides.attributes } : facts.attributes,
})

/** Overrides that do not fit this instance, such as a version of another system. */
export const overridesProblem = (
  facts: InstanceFacts,
  overrides: InstanceOverrides,
): { field: string; message: string } | null => {
  const { os_type, distribution, distribution_version } = overrides
  if (os_type === undefined && distribution === undefined && distribution_version === undefined) return null
  return osProblem(effectiveOs(detectOs(facts), overrides))
}

export const nicTypes = ['managed', 'bridged', 'physical'] as const
export type NicType = (typeof nicTypes)[number]

/** The target network for the NICs of a source network. */
export interface NetworkPlacement {
  readonly network: string
  readonly nictype: NicType
  /** One VLAN, or several with commas and ranges; empty: none. */
  readonly vlan_id: string
}

/** As people write it: no empty part, and no 0. */
const isVlanList = (text: string): boolean =>
  text.split(',').every((part) => /^[1-9]\d*(?:-[1-9]\d*)?$/.test(part)) && parseVlans(text) !== undefined

/** A VLAN, or several with commas and ranges; empty: none. */
export const vlanIdSchema = z
  .string()
  .max(200)
  .overwrite(tidyVlans)
  .refine((text) => text === '' || isVlanList(text), 'Use ids from 1 to 4094, such as 100 or 100,200-210.')

/** Why a VLAN does not fit a type of NIC. */
export const vlanProblem = (nictype: NicType | undefined, vlanId: string | undefined): string | undefined =>
  vlanId && nictype === 'managed'
    ? 'A managed network has its own VLAN; vlan_id needs nictype bridged or physical.'
    : undefined

export const networkOverridesSchema = z
  .strictObject({
    network: z
      .string()
      .regex(
        /^[a-zA-Z0-9](?:[a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?$/,
        'Use a name of letters, digits, dots and dashes.',
      )
      .optional(),
    nictype: z.enum(nicTypes).optional(),
    vlan_id: vlanIdSchema.optional(),
  })
  .superRefine(({ network, nictype, vlan_id }, context) => {
    if ((network !== undefined || vlan_id !== undefined) && nictype === undefined)
      context.addIssue({
        code: 'custom',
        path: ['nictype'],
        message: 'Required: it says what the override means.',
      })
    const message = vlanProblem(nictype, vlan_id)
    if (message) context.addIssue({ code: 'custom', path: ['vlan_id'], message })
  })

export type NetworkOverrides = z.infer<typeof networkOverridesSchema>

/** The last part of an inventory path, with spaces as dashes. */
const networkName = (facts: NetworkFacts): string =>
  (facts.location.split('/').findLast((part) => part !== '') ?? facts.name).replaceAll(' ', '-')

/** The default target network of a source network: distributed networks go on a trunk with their VLAN. */
export const defaultPlacement = (facts: NetworkFacts): NetworkPlacement =>
  facts.type === 'distributed'
    ? { network: networkName(facts), nictype: 'physical', vlan_id: facts.vlan }
    : { network: networkName(facts), nictype: 'managed', vlan_id: '' }

export const placeNetwork = (facts: NetworkFacts, overrides: NetworkOverrides): NetworkPlacement => {
  const placement = defaultPlacement(facts)
  const nictype = overrides.nictype ?? placement.nictype
  return {
    network: overrides.network ?? placement.network,
    nictype,
    // A VLAN for another type of NIC is dropped.
    vlan_id: nictype === 'managed' ? '' : (overrides.vlan_id ?? placement.vlan_id),
  }
}
