import type { PowerVerb } from '../job/kinds/power-instance.ts'

/** What a person needs to know of a machine before switching it. */
export interface PoweredMachine {
  readonly name: string
  readonly source: string
  readonly location: string
  readonly addresses: readonly string[]
  /** `batch/wave-1`; null: no batch holds it. */
  readonly heldBy: string | null
}

const addressesMax = 4

/** Whether a person confirms first: the guest and its users lose the machine. */
export const isPowerAsked = (verb: PowerVerb): boolean => verb !== 'start'

const done: Readonly<Record<PowerVerb, (machine: string) => string>> = {
  start: (machine) => `${machine} is switched on.`,
  shutdown: (machine) => `The guest of ${machine} is asked to shut down.`,
  stop: (machine) => `The plug of ${machine} is pulled: what its guest has not written is lost.`,
  restart: (machine) => `The guest of ${machine} is asked to restart.`,
}

/** What happens to which machine, to whom, and for how long: for a person about to confirm. */
export const powerMeaning = (machine: PoweredMachine, verb: PowerVerb): string =>
  [
    done[verb](`${machine.name} (${machine.source}, ${machine.location})`),
    ...(isPowerAsked(verb) ? [whoIsWithout(machine, verb)] : []),
    ...(machine.heldBy === null ? [] : [held(machine.heldBy, verb)]),
  ].join(' ')

const whoIsWithout = ({ addresses }: PoweredMachine, verb: PowerVerb): string => {
  const named = addresses.slice(0, addressesMax).join(', ')
  const rest = addresses.length - addressesMax
  const at = named === '' ? '' : ` at ${named}${rest > 0 ? ` and ${rest} more` : ''}`
  return verb === 'restart'
    ? `Whoever uses it${at} is without it until its guest has booted.`
    : `Whoever uses it${at} is without it: it is off until somebody starts it, nothing does that by itself.`
}

const held = (by: string, verb: PowerVerb): string => {
  const batch = by.replace(/^batch\//, '')
  return verb === 'stop'
    ? `The batch ${batch} holds it: this is refused, but with force, which gives up a cutover that has begun.`
    : `The batch ${batch} holds it: this is refused as long as that runs.`
}

/** The parts of the API's instance that a person is shown; the same in the console and the CLI. */
export const poweredMachine = (instance: {
  readonly name: string
  readonly ref: string
  readonly source: string
  readonly location: string
  readonly frozen_by: string | null
  readonly effective: unknown
}): PoweredMachine => {
  const { nics = [] } = instance.effective as {
    nics?: readonly { ipv4_addresses?: readonly string[]; ipv6_addresses?: readonly string[] }[]
  }
  return {
    name: instance.name || instance.ref,
    source: instance.source,
    location: instance.location,
    addresses: nics.flatMap((nic) => [...(nic.ipv4_addresses ?? []), ...(nic.ipv6_addresses ?? [])]),
    heldBy: instance.frozen_by,
  }
}
