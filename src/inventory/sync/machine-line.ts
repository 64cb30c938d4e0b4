import { v7 as uuidv7 } from 'uuid'
import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { cleanInstance } from '../../domain/inventory/normalise.ts'
import type { InventoryItem } from '../../platforms/ports/inventory.ts'
import { type StageLine, writeFacts } from '../judge/stage-line.ts'

/** What nobody operates on: what machines are cloned from, and the platform's own. */
const isNoMachine = ({ template, appliance }: InstanceFacts): boolean => template || appliance

/** What a column of that type holds. */
const mostCpus = 2 ** 31 - 1

/** To a target's inventory something that became a template is gone, as a machine. */
export const asMachineItem = (item: InventoryItem): InventoryItem =>
  item.type === 'instance' && isNoMachine(item.facts)
    ? { type: 'gone', of: 'instance', ref: item.facts.ref }
    : item

/**
 * What a target's machines are like, as little of it as their rows have. Whether that is news is told by the statement
 * that merges them, so nothing has to be looked up while the platform streams.
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
