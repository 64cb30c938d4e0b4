import { v7 as uuidv7 } from 'uuid'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { cleanInstance } from '../../domain/inventory/normalise.ts'
import type { InventoryItem } from '../../platforms/ports/inventory.ts'
import { type StageLine, writeFacts } from '../judge/stage-line.ts'

/** Templates and the platform's own appliances are not operated on. */
const isNoMachine = ({ template, appliance }: InstanceFacts): boolean => template || appliance

/** The range of the column's type. */
const mostCpus = 2 ** 31 - 1

/** In a target's inventory, a machine that became a template is gone. */
export const asMachineItem = (item: InventoryItem): InventoryItem =>
  item.type === 'instance' && isNoMachine(item.facts)
    ? { type: 'gone', of: 'instance', ref: item.facts.ref }
    : item

/**
 * The machines of a target, reduced to the columns of their rows. The merge statement finds what has changed, so
 * nothing is looked up while the platform streams.
 */
export const machineLines = (seen: readonly InstanceFacts[]): StageLine[] =>
  seen.map((item) => {
    const { facts } = cleanInstance(item)
    const { uuid, resource_pool: project, host, power_state: power, memory } = facts
    const macs = facts.nics.map(({ mac }) => mac).filter((mac) => mac !== '')
    const cpus = Math.min(facts.cpus, mostCpus)
    const { text, hash } = writeFacts({ uuid, project, host, power, cpus, memory, macs })
    return {
      kind: 'instance',
      ref: facts.ref,
      action: 'seen',
      recordId: uuidv7(),
      base: null,
      hash,
      name: facts.name,
      factsText: text,
      more: null,
    }
  })
