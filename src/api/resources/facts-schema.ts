import { z } from '@hono/zod-openapi'
import type {
  DeviceFacts,
  DiskFacts,
  GuestFacts,
  InstanceFacts,
  NicFacts,
  SnapshotFacts,
} from '../../domain/inventory/facts.ts'
import type { EffectiveFacts } from '../../domain/inventory/overrides.ts'

/** Every field of a sort of facts: one that comes new does not compile until it is here. */
type Shape<Facts> = { readonly [Field in keyof Facts]-?: z.ZodType }

const text = z.string()
const flag = z.boolean()
const texts = z.array(z.string())
const bytes = z.number().openapi({ description: 'Bytes.' })

const nicShape = {
  key: text,
  label: text,
  mac: text,
  connected: flag,
  network_ref: text,
  network: text,
  type: text,
  ipv4_addresses: texts,
  ipv6_addresses: texts,
} satisfies Shape<NicFacts>

const diskShape = {
  key: text,
  label: text,
  name: text,
  capacity: bytes,
  used: bytes.nullable(),
  backing: z.enum(['file', 'raw-mapping', 'raw', 'volume', 'unknown']),
  mode: z.enum(['dependent', 'independent', 'unknown']),
  shared: flag,
  encrypted: flag,
  thin: flag.nullable(),
  datastore: text,
  change_id: text.nullable(),
  unreadable: text.optional(),
} satisfies Shape<DiskFacts>

const snapshotShape = {
  ref: text,
  name: text,
  created_at: text.nullable(),
  memory: flag,
  parent: text.nullable(),
} satisfies Shape<SnapshotFacts>

const deviceShape = { kind: text, label: text, connected: flag } satisfies Shape<DeviceFacts>

const guestShape = {
  agent: z.enum(['running', 'not-running', 'not-installed', 'unknown']),
  agent_version: text,
  hostname: text,
} satisfies Shape<GuestFacts>

const factsShape = {
  ref: text,
  uuid: text,
  bios_uuid: text,
  name: text,
  location: text,
  description: text,
  template: flag,
  appliance: flag,
  power_state: z.enum(['on', 'off', 'suspended']),
  running: flag,
  os: text,
  os_description: text,
  os_template: text,
  architecture: text,
  cpus: z.number(),
  memory: bytes,
  cpu_hot_plug: flag,
  memory_hot_plug: flag,
  legacy_boot: flag,
  secure_boot: flag,
  tpm: flag,
  encrypted: flag,
  hardware_version: text,
  cluster: text,
  host: text,
  resource_pool: text,
  folder: text,
  datacenter: text,
  background_import: flag,
  needs_consolidation: flag,
  fault_tolerant: flag,
  nics: z.array(z.object(nicShape).openapi('NicFacts')),
  disks: z.array(z.object(diskShape).openapi('DiskFacts')),
  snapshots: z.array(z.object(snapshotShape).openapi('SnapshotFacts')),
  devices: z.array(z.object(deviceShape).openapi('DeviceFacts')),
  guest: z.object(guestShape).openapi('GuestFacts'),
  tags: z.record(text, texts).openapi({ description: 'Names by category.' }),
  attributes: z.record(text, text),
} satisfies Shape<InstanceFacts>

/** What a source says of an instance. */
export const instanceFactsSchema = z.object(factsShape).openapi('InstanceFacts')

/** The same after overrides: what filters, rules and placement see. */
export const effectiveFactsSchema = z
  .object({
    ...factsShape,
    target_name: text,
    os_type: text,
    distribution: text,
    distribution_version: text,
  } satisfies Shape<EffectiveFacts>)
  .openapi('EffectiveFacts')

/** Facts as an answer types them: its lists are not read-only. The value is the same. */
export const shownFacts = <Facts extends InstanceFacts>(facts: Facts): Shown<Facts> => facts as Shown<Facts>

type Shown<Value> = Value extends readonly (infer Item)[]
  ? Shown<Item>[]
  : Value extends object
    ? { -readonly [Field in keyof Value]: Shown<Value[Field]> }
    : Value
