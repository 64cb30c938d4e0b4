import type { Queryable } from '../../../db/client.ts'
import type { InstanceFacts, PowerState } from '../../domain/inventory/facts.ts'
import { storableText } from '../../storable.ts'
import type { Change } from '../model/context.ts'
import type { BootRecord } from '../model/disk-content.ts'
import { absent } from '../model/refusal.ts'

/** What is special about a machine: how looking at it fails. */
export interface MachineTraits {
  /** A look at it fails with this code, and a listing has a marker instead. */
  readonly unreadable?: string
  /** The facts as they stand are not changed by what happens to it: worlds that lie. */
  readonly frozenFacts?: boolean
  /** How long a live move of it takes at pace 1. */
  readonly moveMs?: number
  /** From this percent on a live move does not come further, unless its guest is slowed down. */
  readonly moveStallAt?: number
}

export interface Machine {
  readonly site: string
  readonly ref: string
  name: string
  uuid: string
  lineage: string
  folder: string
  location: string
  datacenter: string
  project: string
  host: string
  cluster: string
  cpus: number
  memory: number
  template: boolean
  complete: boolean
  facts: InstanceFacts
  traits: MachineTraits
  guest: BootRecord | null
  owner: Record<string, string>
  power: PowerState
  runId: string
  bootId: string
  counterBase: number
  counterAt: Date | null
  readyAt: Date | null
  loadAt: Date | null
  snapshot: string | null
}

export const findMachine = async (db: Queryable, site: string, ref: string): Promise<Machine | undefined> => {
  const [row] = await db<Machine[]>`
    select * from lab.machine where site = ${site} and ref = ${storableText(ref)} and not gone`
  return row
}

export const getMachine = async (db: Queryable, site: string, ref: string): Promise<Machine> => {
  const machine = await findMachine(db, site, ref)
  if (!machine) throw absent(`machine "${ref.slice(0, 100)}" in ${site}`)
  return machine
}

/** Its cards; a machine whose facts are lies shows none to the lab either. */
export const nicsOf = (machine: Machine): InstanceFacts['nics'] =>
  machine.traits.frozenFacts ? [] : machine.facts.nics

/** The facts with everything that the lab itself knows better put in. */
const currentFacts = (machine: Machine, hostName: string): InstanceFacts =>
  machine.traits.frozenFacts
    ? machine.facts
    : {
        ...machine.facts,
        ref: machine.ref,
        uuid: machine.uuid,
        name: machine.name === storableText(machine.facts.name) ? machine.facts.name : machine.name,
        location: machine.location,
        folder: machine.folder,
        template: machine.template,
        power_state: machine.power,
        running: machine.power === 'on',
        cpus: machine.cpus,
        memory: machine.memory,
        host: hostName,
        // A project is to the lab what a resource pool is to others.
        resource_pool: machine.project === '' ? machine.facts.resource_pool : machine.project,
        cluster: machine.cluster,
      }

/** JSON as Postgres' `json` takes it: pure text, with what UTF-8 cannot say as escapes. */
const jsonText = (value: unknown): string => JSON.stringify(value)

/** Writes the machine as it now is, facts included, as part of this change. */
export const saveMachine = async (change: Change, machine: Machine): Promise<void> => {
  const { tx, site, seq } = change
  const [host] = await tx<{ name: string }[]>`
    select name from lab.entity where site = ${site} and type = 'host' and ref = ${machine.host}`
  machine.facts = currentFacts(machine, host?.name ?? '')
  const m = machine
  await tx`
    insert into lab.machine (site, ref, name, uuid, lineage, folder, location, datacenter, project, host, cluster,
      cpus, memory, template, complete, facts, traits, guest, owner, power, run_id, boot_id, counter_base,
      counter_at, ready_at, load_at, snapshot, seq)
    values (${site}, ${m.ref}, ${storableText(m.name)}, ${m.uuid}, ${m.lineage}, ${storableText(m.folder)},
      ${storableText(m.location)}, ${m.datacenter}, ${m.project}, ${m.host}, ${m.cluster}, ${m.cpus}, ${m.memory},
      ${m.template}, ${m.complete}, ${jsonText(m.facts)}::text::json, ${tx.json(m.traits as never)},
      ${m.guest === null ? null : tx.json(m.guest as never)}, ${tx.json(m.owner)}, ${m.power}, ${m.runId},
      ${m.bootId}, ${m.counterBase}, ${m.counterAt}, ${m.readyAt}, ${m.loadAt}, ${m.snapshot}, ${seq})
    on conflict (site, ref) do update set
      name = excluded.name, uuid = excluded.uuid, lineage = excluded.lineage, folder = excluded.folder,
      location = excluded.location, datacenter = excluded.datacenter, project = excluded.project,
      host = excluded.host, cluster = excluded.cluster, cpus = excluded.cpus, memory = excluded.memory,
      template = excluded.template, complete = excluded.complete, facts = excluded.facts,
      traits = excluded.traits, guest = excluded.guest, owner = excluded.owner, power = excluded.power,
      run_id = excluded.run_id, boot_id = excluded.boot_id, counter_base = excluded.counter_base,
      counter_at = excluded.counter_at, ready_at = excluded.ready_at, load_at = excluded.load_at,
      snapshot = excluded.snapshot, seq = excluded.seq, gone = false`
}

/** Leaves a tombstone, so that a delta can tell. */
export const removeMachine = async (change: Change, ref: string): Promise<void> => {
  const { tx, site, seq } = change
  await tx`
    update lab.machine set gone = true, power = 'off', seq = ${seq}, owner = '{}'
    where site = ${site} and ref = ${ref}`
}

/** Whether another machine or template of that folder and project has the name. */
export const nameTaken = async (
  db: Queryable,
  at: { site: string; folder: string; project: string; name: string; except: string },
): Promise<boolean> => {
  const rows = await db`
    select from lab.machine where site = ${at.site} and folder = ${storableText(at.folder)}
      and project = ${at.project} and name = ${storableText(at.name)} and ref <> ${at.except} and not gone
    limit 1`
  return rows.length > 0
}

/** Those that carry all of these keys with these values. */
export const ownedRefs = async (
  db: Queryable,
  site: string,
  owner: Readonly<Record<string, string>>,
): Promise<string[]> => {
  const rows = await db<{ ref: string }[]>`
    select ref from lab.machine
    where site = ${site} and not gone and owner @> ${db.json(owner as never)} order by ref limit 1000`
  return rows.map(({ ref }) => ref)
}

/** Whether a machine can be seen changes with its host: a delta has to say so. */
export const touchMachinesOn = async ({ tx, site, seq }: Change, host: string): Promise<void> => {
  await tx`update lab.machine set seq = ${seq} where site = ${site} and host = ${host} and not gone`
}

export const runningOn = async ({ tx, site }: Change, host: string): Promise<string[]> => {
  const rows = await tx<{ ref: string }[]>`
    select ref from lab.machine
    where site = ${site} and host = ${host} and power = 'on' and not gone order by ref`
  return rows.map(({ ref }) => ref)
}

/** Up to when the running guest has written to its disk. */
export const saveLoadAt = async ({ tx, site }: Change, machine: Machine): Promise<void> => {
  await tx`update lab.machine set load_at = ${machine.loadAt} where site = ${site} and ref = ${machine.ref}`
}

/** More are refused: a list that was cut would show templates as absent. */
export const templatesMost = 1_000

/** One more than the most, so that a cut is seen. */
export const listTemplates = async (db: Queryable, site: string, folder: string): Promise<Machine[]> =>
  await db<Machine[]>`
    select * from lab.machine where site = ${site} and template and not gone
      and (${folder} = '' or folder = ${storableText(folder)}) order by ref limit ${templatesMost + 1}`

/** What hangs on a machine besides its disks. */
export const removeBelongings = async ({ tx, site }: Change, ref: string): Promise<void> => {
  await tx`delete from lab.snapshot where site = ${site} and machine = ${ref}`
  await tx`delete from lab.saved where site = ${site} and machine = ${ref}`
}

/** How it stands, and that it stays so until the transaction ends. */
export const holdPower = async (
  tx: Queryable,
  site: string,
  ref: string,
): Promise<PowerState | undefined> => {
  const [row] = await tx<{ power: PowerState }[]>`
    select power from lab.machine where site = ${site} and ref = ${ref} for share`
  return row?.power
}
