import { instanceFacts } from '../../support/imagined-site.ts'
import { problem } from '../operation/cloud-things.ts'

/** A machine at a place, as the place has it. */
export interface EstateMachine {
  readonly place: string
  readonly ref: string
  readonly name: string
  uuid: string
  power: 'on' | 'off'
  /** Of this run of it. */
  boot: string
  /** What becomes of a word to its guest. */
  guest: 'obeys' | 'hangs'
  /** Somebody sees to it that its place knows what it has written. */
  readonly tracked: boolean
  /** The run that was asked to shut itself down: it does when its guest obeys. */
  goesDown: string | null
  /** By which call it was asked to. */
  shutBy: string
  owner: Readonly<Record<string, string>>
  nics: readonly { readonly mac: string; readonly network: string }[]
  cpus: number
  memory: number
  description: string
  attributes: Readonly<Record<string, string>>
  disks: Map<string, EstateDisk>
  /** Of a copy that has run: what was on its disks when it ran first after it was written. */
  copied: ReadonlyMap<string, Buffer> | null
  readonly snapshots: Map<
    string,
    { readonly name: string; readonly disks: ReadonlyMap<string, Readonly<EstateDisk>> }
  >
}

/** Tracked, if nothing is said. */
export type NewSource = Pick<EstateMachine, 'power' | 'guest'> & Partial<Pick<EstateMachine, 'tracked'>>

/** One extent of bytes, and how often they have changed. */
export interface EstateDisk {
  bytes: Buffer
  version: number
}

/** One line of the places' own record. */
export interface PowerLine {
  readonly at: number
  readonly place: string
  readonly ref: string
  readonly uuid: string
  readonly to: 'on' | 'off'
  /** The name of the call that did it: it begins with the id of a job or an effect. */
  readonly by: string
}

export const diskBytes = 4_096
export const diskKey = '2000'

/** All that there is outside: the machines of every place, and one record of who ran when. */
export class Estate {
  readonly machines = new Map<string, EstateMachine>()
  readonly power: PowerLine[] = []
  /** Copies that were started with other bytes than their source had. */
  readonly stale: string[] = []
  /** Moments in which two machines of one identity ran. */
  readonly doubled: string[] = []
  /** Of machines that are no more, because another stands in their place: what they had last. */
  readonly replaced = new Map<string, EstateMachine>()
  #moment = 0

  put(place: string, number: number, given: NewSource): EstateMachine {
    const { uuid, name, nics, cpus, memory } = instanceFacts({ ref: `vm-${number}` })
    const machine: EstateMachine = {
      ...{
        tracked: true,
        ...given,
        place,
        ref: `vm-${number}`,
        name,
        uuid,
        cpus,
        memory,
        boot: this.next('boot'),
      },
      ...{ goesDown: null, shutBy: '', owner: {}, description: '', attributes: {} },
      nics: nics.map(({ mac, network }) => ({ mac, network })),
      disks: new Map([[diskKey, { bytes: Buffer.alloc(diskBytes, number), version: 1 }]]),
      snapshots: new Map(),
      copied: null,
    }
    this.add(machine)
    if (machine.power === 'on') this.#note(machine, 'before')
    return machine
  }

  add(machine: EstateMachine): void {
    this.machines.set(`${machine.place}/${machine.ref}`, machine)
  }

  at(place: string): EstateMachine[] {
    return [...this.machines.values()].filter((machine) => machine.place === place)
  }

  find(place: string, ref: string): EstateMachine | undefined {
    return this.machines.get(`${place}/${ref}`)
  }

  /** Another machine stands there from now on: by the same id of the place, with a UUID and bytes of its own. */
  replace(machine: EstateMachine): void {
    this.replaced.set(machine.uuid, { ...machine })
    const number = this.replaced.size
    machine.uuid = `59000000-0000-4000-8000-${String(number).padStart(12, '0')}`
    machine.boot = this.next('boot')
    machine.goesDown = null
    // No version that its place knew of the other's disk says anything of this disk.
    const disk = { bytes: Buffer.alloc(diskBytes, 0xf0 + number), version: 1_000_000 * number }
    machine.disks = new Map([[diskKey, disk]])
    machine.snapshots.clear()
  }

  machine(place: string, ref: string): EstateMachine {
    const machine = this.find(place, ref)
    if (!machine) throw problem('platform-absent', 'absent')
    return machine
  }

  remove({ place, ref }: EstateMachine): void {
    this.machines.delete(`${place}/${ref}`)
  }

  switchOn(machine: EstateMachine, by: string): void {
    machine.boot = this.next('boot')
    machine.goesDown = null
    machine.power = 'on'
    this.#note(machine, by)
    this.#noteCopied(machine)
    // Every boot leaves its trace.
    this.write(machine)
    for (const other of this.machines.values())
      if (other !== machine && other.uuid === machine.uuid && other.power === 'on')
        this.doubled.push(`${tell(machine)} was started by ${by} while ${tell(other)} ran`)
  }

  switchOff(machine: EstateMachine, by: string): void {
    machine.power = 'off'
    machine.goesDown = null
    this.#note(machine, by)
  }

  /** A guest works. */
  write(machine: EstateMachine): void {
    for (const disk of machine.disks.values()) {
      disk.version += 1
      disk.bytes = Buffer.from(disk.bytes)
      disk.bytes.writeUInt32LE(disk.version, 8)
    }
  }

  /** What a copy begins its life with is what its source has, and goes on to have. */
  #noteCopied(machine: EstateMachine): void {
    if (machine.owner['drover.entry'] === undefined || machine.copied !== null) return
    machine.copied = new Map([...machine.disks].map(([key, { bytes }]) => [key, Buffer.from(bytes)]))
    const source = this.sourceOf(machine)
    if (source && !hasBytesOf(source, machine.copied))
      this.stale.push(`${tell(machine)} was started with other bytes than ${tell(source)} has`)
  }

  /** The machine that a copy of ours was made of, as it is or was last. */
  sourceOf(copy: EstateMachine): EstateMachine | undefined {
    const source = [...this.machines.values()].find(
      ({ uuid, owner }) => uuid === copy.uuid && owner['drover.entry'] === undefined,
    )
    return source ?? this.replaced.get(copy.uuid)
  }

  /** All of it as it is now; nobody is at work on it. */
  copy(): Estate {
    const copy = new Estate()
    for (const machine of this.machines.values())
      copy.add({
        ...machine,
        disks: new Map([...machine.disks].map(([key, disk]) => [key, { ...disk }])),
        snapshots: new Map(machine.snapshots),
      })
    copy.power.push(...this.power)
    for (const [uuid, machine] of this.replaced) copy.replaced.set(uuid, machine)
    copy.#moment = this.#moment
    return copy
  }

  next(what: string): string {
    this.#moment += 1
    return `${what}-${this.#moment}`
  }

  #note({ place, ref, uuid, power: to }: EstateMachine, by: string): void {
    this.#moment += 1
    this.power.push({ at: this.#moment, place, ref, uuid, to, by })
  }
}

export const hasBytesOf = ({ disks }: EstateMachine, copied: ReadonlyMap<string, Buffer>): boolean =>
  [...disks.values()].every(({ bytes }, nth) => [...copied.values()][nth]?.equals(bytes) === true)

export const tell = ({ place, ref, name }: Pick<EstateMachine, 'place' | 'ref' | 'name'>): string =>
  `${name} (${ref}) at ${place}`
