interface ShownEvent {
  readonly type: string
  readonly reason?: unknown
  readonly detail?: unknown
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const countOf = (value: unknown): number => (typeof value === 'number' ? value : 0)
const times = (count: number): string => (count === 1 ? 'once' : `${count} times`)

/** The reason of an event for a list that people read, or its facts for sign-ins and sign-outs. */
export const eventWords = ({ type, reason, detail }: ShownEvent): string => {
  const facts = (detail ?? {}) as Readonly<Record<string, unknown>>
  if (type === 'session.started') return `signed in from ${textOf(facts.peer)}`
  if (type === 'session.ended') return `signed out from ${textOf(facts.peer)}`
  if (type === 'sign-in.failed') return failedWords(facts)
  return type === 'job.released' && facts.message !== undefined
    ? `${textOf(reason)}: ${textOf(facts.message)}`
    : textOf(reason)
}

const failedWords = (facts: Readonly<Record<string, unknown>>): string => {
  const peers = Array.isArray(facts.peers) ? (facts.peers as Readonly<Record<string, unknown>>[]) : []
  const named = peers.map(({ peer, attempts }) => `${textOf(peer)} (${times(countOf(attempts))})`)
  const others = countOf(facts.of_other_addresses)
  const from = [...named, ...(others > 0 ? [`other addresses (${times(others)})`] : [])].join(', ')
  return `wrong token ${times(countOf(facts.attempts))}, from ${from}`
}
