import { distributions, osTypes } from '../inventory/os.ts'
import { rules } from '../inventory/rules/catalogue.ts'
import { readinesses } from '../inventory/rules/evaluate.ts'
import { entryStages, entryStates } from '../migration/entry/entry.ts'
import { conflictRules } from '../operation/admission/admit.ts'
import { runPolicies } from '../operation/kinds/applicability.ts'
import { operationKinds } from '../operation/kinds/kinds.ts'
import { machineOrigins } from '../operation/kinds/origin.ts'
import { machinePhases } from '../operation/kinds/phase.ts'
import { operationReasons } from '../operation/kinds/reasons.ts'
import { operationStates } from '../operation/kinds/state.ts'

/** The types of the filter language that fields have. */
export type FieldType =
  | 'string'
  | 'int'
  | 'bool'
  | 'list<string>'
  | 'map<string, string>'
  | 'map<string, list<string>>'
  | 'list<Nic>'
  | 'list<Disk>'
  | 'list<Snapshot>'
  | 'list<Device>'
  | 'Guest'

export interface Field {
  readonly type: FieldType
  /** For people; empty where the name is enough. */
  readonly about: string
  /** Every possible value, where there are few: another value in a filter is a mistake. */
  readonly values?: readonly string[]
}

export type Fields = Readonly<Record<string, Field>>

const of =
  (type: FieldType) =>
  (about = ''): Field => ({ type, about })
const oneOf = (values: readonly string[], about = ''): Field => ({
  type: 'string',
  about: [values.map((value) => `\`${value}\``).join(', '), about].filter((part) => part !== '').join('; '),
  values,
})
const [text, int, flag, texts] = [of('string'), of('int'), of('bool'), of('list<string>')]

/** The items of an instance's lists. A value that the platform does not know is missing: ask with `has(d.used)`. */
export const itemTypes = {
  Nic: {
    key: text(),
    label: text(),
    mac: text('lower case, with colons'),
    connected: flag(),
    network_ref: text(),
    network: text('name of the network'),
    type: text(),
    ipv4_addresses: texts(),
    ipv6_addresses: texts(),
  },
  Disk: {
    key: text(),
    label: text(),
    name: text('`[datastore] folder/disk.vmdk`'),
    capacity: int('bytes'),
    used: int('bytes; not there when unknown'),
    backing: text('`file`, `raw-mapping`, `raw`, `volume`, `unknown`'),
    mode: text('`dependent`, `independent`, `unknown`'),
    shared: flag(),
    encrypted: flag(),
    thin: flag('not there when unknown'),
    datastore: text(),
    supported: flag('whether it can be copied while the machine runs'),
    copied: text('`while-running`, `while-off` (with a waiver), `never`'),
  },
  Snapshot: {
    ref: text(),
    name: text(),
    created_at: text('ISO; not there when unknown'),
    memory: flag(),
    parent: text('not there for a root'),
  },
  Device: {
    kind: text(
      '`pci-passthrough`, `vgpu`, `usb`, `sriov-nic`, `serial`, `parallel`, `cdrom`, `floppy`, `tpm`, `nvdimm`, `other`',
    ),
    label: text(),
    connected: flag(),
  },
  Guest: {
    agent: text('`running`, `not-running`, `not-installed`, `unknown`'),
    agent_version: text(),
    hostname: text(),
  },
} as const satisfies Readonly<Record<string, Fields>>

const instanceFields = {
  name: text('after overrides'),
  target_name: text('the name on a target'),
  location: text('inventory path, such as `/Paris/vm/shop/web-01`'),
  description: text(),
  source: text('name of the source'),
  source_kind: text('`lab`, `vsphere`'),
  ref: text("the platform's id"),
  uuid: text('lower case'),
  bios_uuid: text(),
  power_state: oneOf(['on', 'off', 'suspended']),
  running: flag(),
  os: text('as the guest says'),
  os_description: text(),
  os_template: text('as the platform was told'),
  os_type: oneOf(osTypes, 'after overrides'),
  distribution: oneOf(distributions, 'after overrides'),
  distribution_version: text('such as `12`, `24.04`, `Server 2022`; empty when unknown'),
  architecture: text(),
  cpus: int('after overrides'),
  memory: int('bytes, after overrides'),
  cpu_hot_plug: flag(),
  memory_hot_plug: flag(),
  legacy_boot: flag(),
  secure_boot: flag(),
  tpm: flag(),
  encrypted: flag(),
  hardware_version: text(),
  datacenter: text(),
  cluster: text(),
  host: text(),
  resource_pool: text(),
  folder: text(),
  background_import: flag('changed blocks are tracked'),
  needs_consolidation: flag(),
  fault_tolerant: flag(),
  nics: of('list<Nic>')(),
  disks: of('list<Disk>')(),
  snapshots: of('list<Snapshot>')(),
  devices: of('list<Device>')(),
  guest: of('Guest')(),
  tags: of('map<string, list<string>>')('names by category'),
  attributes: of('map<string, string>')('after overrides'),
  readiness: oneOf(readinesses),
  findings: { ...texts('ids of the rules that hold and count'), values: rules.map(({ id }) => id) },
} as const satisfies Fields

const networkFields = {
  name: text(),
  location: text('inventory path'),
  source: text('name of the source'),
  source_kind: text('`lab`, `vsphere`'),
  ref: text("the platform's id"),
  type: oneOf(['standard', 'distributed', 'nsx', 'nsx-distributed', 'bridge', 'other']),
  datacenter: text(),
  switch: text(),
  vlan: text(),
  segment_id: text(),
  subnets: texts(),
  accessible: flag(),
} as const satisfies Fields

/** The fields of an entry: its frozen instance and its own state. */
const entryFields = {
  ...instanceFields,
  batch: text('name of the batch'),
  state: oneOf(entryStates),
  stage: oneOf(entryStages),
  reason: text('why it is where it is, as a code'),
  reasons: texts('all of them, where there are several'),
  target: text('name of the target; before it has a place, the default one'),
  window: text('name of the window that it holds; empty: none'),
  since: text('ISO: when it came to its state'),
  retries: int('tries to start and verify the target'),
  source_off: flag('its source is off on its account'),
  job: text('kind of the job that is at it; empty: none'),
} as const satisfies Fields

const machineFields = {
  name: text(),
  target: text('name of the target'),
  project: text(),
  host: text('name of the host; empty: none'),
  ref: text("the platform's id"),
  uuid: text('lower case'),
  power: oneOf(['on', 'off', 'suspended', 'unknown'], 'as it was seen last'),
  phase: oneOf(machinePhases, 'what it is doing'),
  hibernated: flag('it has a saved state to wake from'),
  cpus: int(),
  memory: int('bytes'),
  run_policy: oneOf(runPolicies),
  origin: oneOf(machineOrigins),
  batch: text('name of the batch that made it, or has it; empty: none'),
  in_migration: flag('its entry is not over'),
  operation: text('kind of the operation that is at it; empty: none'),
  queued: int('operations that wait behind it'),
} as const satisfies Fields

const operationFields = {
  machine: text('name of the machine'),
  target: text('name of the target'),
  kind: oneOf(operationKinds),
  force: flag(),
  state: oneOf(operationStates),
  reason: {
    ...text('why it is where it is: the [reasons](operations.md#states-and-reasons)'),
    values: Object.keys(operationReasons),
  },
  retryable: flag('asked again later, it may succeed'),
  message: text(),
  cause: oneOf(['person', 'evacuation', 'policy'], 'who wants it'),
  on_conflict: oneOf(conflictRules),
  progress: int('percent'),
  past_return: flag('it can no longer be taken back'),
  settled: flag('the last of what it had begun has ended'),
  superseded_by: text('id of the one that took its place; empty: none'),
  created_by: text(),
  created_at: text('ISO'),
  started_at: text('ISO; empty: the platform was asked for nothing yet'),
  finished_at: text('ISO; empty: it is open'),
} as const satisfies Fields

/** Every name that a filter may use, by kind. */
export const filterFields = {
  instance: instanceFields,
  network: networkFields,
  entry: entryFields,
  machine: machineFields,
  operation: operationFields,
} as const

export type FilterKind = keyof typeof filterFields

/** Kinds with tags: only these have the functions for tags. */
export const hasTags = (kind: FilterKind): boolean => kind === 'instance' || kind === 'entry'

/** A field whose name the language reserves has an internal name of the same length. */
export const renamedFields: ReadonlyMap<string, string> = new Map([['type', 'typ_']])
