import type { Json } from './client.ts'
import { type Call, exitCodes } from './command.ts'
import { pathOf } from './commands/lists.ts'

const firstLookMs = 200
const slowestLookMs = 2_000

const hasEnded = (operation: Json): boolean => operation.finished_at !== null

/** `stop!` of `web-01`. */
export const titleOf = ({ kind, force, machine }: Json): string => `${kind}${force ? '!' : ''} of ${machine}`

/** Where it is, in a sentence. */
export const statusOf = (operation: Json): string => {
  const { state, message, id } = operation
  const title = `${titleOf(operation)} (${id})`
  if (state === 'superseded') return `${title} was superseded by ${operation.superseded_by}: it was not done.`
  if (hasEnded(operation))
    return state === 'completed' ? `${title} is done.` : `${title}: ${state}. ${message}`
  const waits = operation.waits as Json | null
  return `${title}: ${state}. ${waits ? waits.detail : message}`
}

const lineOf = (open: readonly Json[], all: number): string => {
  const [first] = open
  const progress = Number(first?.progress ?? 0)
  const percent = progress > 0 ? `  ${progress} %` : ''
  return `${all - open.length} of ${all} have ended.  ${first ? statusOf(first) : ''}${percent}`
}

/** Looks at operations until each has ended; the exit code is 0 when all were done. */
export const followOperations = async (call: Call, begun: readonly Json[]): Promise<number> => {
  const { client, output } = call
  const ended: Json[] = []
  let open = begun
  for (let pauseMs = firstLookMs; ; pauseMs = Math.min(pauseMs * 1.5, slowestLookMs)) {
    const now: Json[] = []
    for (const { id } of open) now.push(await client.get(pathOf('operations', String(id))))
    for (const operation of now.filter(hasEnded)) {
      ended.push(operation)
      output.live('')
      output.line(statusOf(operation))
    }
    open = now.filter((operation) => !hasEnded(operation))
    if (open.length === 0) break
    output.live(lineOf(open, begun.length))
    await client.sleep(pauseMs)
  }
  if (output.json) output.show({ items: ended }, () => {})
  return ended.every(({ state }) => state === 'completed') ? exitCodes.ok : exitCodes.failed
}
