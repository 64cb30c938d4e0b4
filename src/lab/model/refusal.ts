import { isDbAway } from '../../../db/client.ts'
import type { WireError } from '../../platforms/lab/protocol.ts'

type Code = WireError['code']

/** A clear answer that is no success. Its code is what the driver's caller will see. */
export class Refusal extends Error {
  readonly facts: WireError

  constructor(facts: WireError) {
    super(facts.message)
    this.name = 'Refusal'
    this.facts = facts
  }
}

/** The lab looked and said no. */
export const refuse = (code: Code, message: string, remedy = 'Look at the state and ask anew.'): Refusal =>
  new Refusal({ code, failure: 'refused', message, remedy })

export const absent = (what: string): Refusal =>
  new Refusal({
    code: 'platform-absent',
    failure: 'absent',
    message: `There is no ${what}.`,
    remedy: 'Check the ref; it may have been removed.',
  })

export const wrongState = (message: string): Refusal =>
  refuse('platform-wrong-state', message, 'Bring the machine to the state that is needed first.')

export const invalid = (message: string): Refusal =>
  refuse(
    'platform-refused',
    message,
    'Correct the request; docs/lab.md and the protocol say what is asked for.',
  )

/** Nothing can be said about it: its host does not answer. */
export const unreachable = (what: string): Refusal =>
  new Refusal({
    code: 'platform-unreachable',
    failure: 'unknown',
    message: `${what} cannot be reached.`,
    remedy: 'Wait until it answers again; until then nothing is known about it.',
  })

/** Any thrown value as what goes over the wire. A defect of the lab says so, and never more than its message. */
export const wireErrorOf = (thrown: unknown): WireError => {
  if (thrown instanceof Refusal) return thrown.facts
  if (isDbAway(thrown)) return unreachable("The lab's own database").facts
  return {
    code: 'platform-fault',
    failure: 'unknown',
    message: `The lab failed: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
    remedy: 'Ask anew; when it stays, it is a defect of the lab and its log has the stack.',
  }
}
