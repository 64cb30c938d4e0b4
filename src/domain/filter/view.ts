import { diskFieldsOf } from '../inventory/copy-way.ts'
import type { NetworkFacts } from '../inventory/facts.ts'
import type { EffectiveFacts } from '../inventory/overrides.ts'
import { type FilterKind, itemTypes, renamedFields } from './fields.ts'

type ItemType = keyof typeof itemTypes
type Entries = Readonly<Record<string, unknown>>

/** One class for each type of item: the language tells types by their class. */
export const itemClasses = {
  Nic: class Nic {},
  Disk: class Disk {},
  Snapshot: class Snapshot {},
  Device: class Device {},
  Guest: class Guest {},
} as const satisfies Record<ItemType, new () => object>

const fieldTypes = Object.fromEntries(
  Object.entries(itemTypes).map(([name, fields]) => [
    name,
    Object.entries(fields).map(([field, { type }]) => [field, type] as const),
  ]),
)

/** An item in the values of the language: integers as BigInt, unknown values left out. */
const makeItem = (type: ItemType, facts: object): object => {
  const made = new itemClasses[type]() as Record<string, unknown>
  for (const [field, of] of fieldTypes[type] ?? []) {
    const value = (facts as Entries)[field]
    if (value !== null && value !== undefined) made[field] = of === 'int' ? BigInt(value as number) : value
  }
  return made
}

const makeItems = (type: ItemType) => (list: unknown) =>
  (list as readonly object[]).map((facts) => makeItem(type, facts))

const big = (value: unknown): bigint => BigInt(value as number)

/** Fields that the language has in another form than the facts. */
const conversions: Readonly<Record<string, (value: unknown) => unknown>> = {
  cpus: big,
  memory: big,
  retries: big,
  queued: big,
  progress: big,
  nics: makeItems('Nic'),
  disks: (list) =>
    makeItems('Disk')((list as EffectiveFacts['disks']).map((disk) => ({ ...disk, ...diskFieldsOf(disk) }))),
  snapshots: makeItems('Snapshot'),
  devices: makeItems('Device'),
  guest: (facts) => makeItem('Guest', facts as object),
  // A Map, because a tag may have the name of a property that every object has.
  tags: (value) => new Map(Object.entries(value as object)),
  attributes: (value) => new Map(Object.entries(value as object)),
}

const fieldNames = new Map([...renamedFields].map(([name, inLanguage]) => [inLanguage, name]))

/** The language reads fields by name; each field is made on first use, because most filters read only names. */
class FilterValues extends Map<string, unknown> {
  readonly #facts: Entries
  readonly #beside: Entries

  constructor(facts: object, beside: Entries) {
    super()
    this.#facts = facts as Entries
    this.#beside = beside
  }

  override get(asked: string): unknown {
    const name = fieldNames.get(asked) ?? asked
    const known = super.get(name)
    if (known !== undefined) return known
    const value = Object.hasOwn(this.#beside, name) ? this.#beside[name] : this.#facts[name]
    const convert = Object.hasOwn(conversions, name) ? conversions[name] : undefined
    if (!convert) return value
    const converted = convert(value)
    this.set(name, converted)
    return converted
  }
}

/** The subject of a filter. */
export interface FilterView {
  readonly kind: FilterKind
  readonly values: ReadonlyMap<string, unknown>
  readonly facts: object
  readonly tags: EffectiveFacts['tags']
}

/** An instance with data beyond its facts. */
export interface InstanceFilterInput {
  readonly facts: EffectiveFacts
  readonly source: string
  readonly source_kind: string
  readonly readiness: string
  /** Ids of the rules that apply and count. */
  readonly findings: readonly string[]
}

/** Made once per instance, for any number of filters. */
export const instanceView = ({ facts, ...beside }: InstanceFilterInput): FilterView => ({
  kind: 'instance',
  values: new FilterValues(facts, beside),
  facts,
  tags: facts.tags,
})

/** An entry: the record of its instance, and its own state. */
export interface EntryFilterInput extends InstanceFilterInput {
  readonly batch: string
  readonly state: string
  readonly stage: string
  readonly reason: string
  readonly reasons: readonly string[]
  readonly target: string
  readonly window: string
  readonly since: string
  readonly retries: number
  readonly source_off: boolean
  readonly job: string
}

export const entryView = ({ facts, ...beside }: EntryFilterInput): FilterView => ({
  kind: 'entry',
  values: new FilterValues(facts, { ...beside }),
  facts,
  tags: facts.tags,
})

/** A network with data beyond its facts. */
export interface NetworkFilterInput {
  readonly facts: NetworkFacts
  readonly source: string
  readonly source_kind: string
}

export const networkView = ({ facts, ...beside }: NetworkFilterInput): FilterView => ({
  kind: 'network',
  values: new FilterValues(facts, beside),
  facts,
  tags: {},
})

/** A machine of a target. */
export interface MachineFilterInput {
  readonly name: string
  readonly target: string
  readonly project: string
  readonly host: string
  readonly ref: string
  readonly uuid: string
  readonly power: string
  readonly phase: string
  readonly hibernated: boolean
  readonly cpus: number
  readonly memory: number
  readonly run_policy: string
  readonly origin: string
  readonly batch: string
  readonly in_migration: boolean
  readonly operation: string
  readonly queued: number
}

export const machineView = (machine: MachineFilterInput): FilterView => ({
  kind: 'machine',
  values: new FilterValues(machine, {}),
  facts: machine,
  tags: {},
})

/** What was asked of a machine. */
export interface OperationFilterInput {
  readonly machine: string
  readonly target: string
  readonly kind: string
  readonly force: boolean
  readonly state: string
  readonly reason: string
  readonly retryable: boolean
  readonly message: string
  readonly cause: string
  readonly on_conflict: string
  readonly progress: number
  readonly past_return: boolean
  readonly settled: boolean
  readonly superseded_by: string
  readonly created_by: string
  readonly created_at: string
  readonly started_at: string
  readonly finished_at: string
}

export const operationView = (operation: OperationFilterInput): FilterView => ({
  kind: 'operation',
  values: new FilterValues(operation, {}),
  facts: operation,
  tags: {},
})
