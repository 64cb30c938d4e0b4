import type { Json } from '../../kit/client.ts'
import { type Call, numberOf } from '../../kit/command.ts'
import { codeOf, itemsOf } from '../../kit/rows.ts'

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
    return state === 'completed'
      ? `${title} is done.${cameOf(operation.result as Json | null)}`
      : `${title}: ${state}. ${message}`
  const waits = operation.waits as Json | null
  const older = operation.supersedes as string[]
  const instead = older.length === 0 ? '' : ` In the place of ${older.join(', ')}.`
  const behind = Number(operation.behind)
  const next = behind === 0 ? '' : ` ${behind} queued behind it: what is asked there goes on afterwards.`
  return `${title}: ${state}. ${waits ? waits.detail : message}${instead}${next}`
}

/** What somebody goes on with. */
const cameOf = (result: Json | null): string => {
  if (result?.machine_id) return ` The copy is ${result.machine_id}.`
  if (result?.snapshot) return ` Its ref is ${result.snapshot}.`
  return result?.to ? ` It runs on ${result.to}.` : ''
}

const lineOf = (open: readonly Json[], all: number): string => {
  const [first] = open
  const progress = Number(first?.progress ?? 0)
  const percent = progress > 0 ? `  ${progress} %` : ''
  return `${all - open.length} of ${all} have ended.  ${first ? statusOf(first) : ''}${percent}`
}

/** As many as one request may name. */
const pageMost = 200

/** By their ids in pages: of ten thousand none may take a request for itself. Those that are gone are not in it. */
const lookAt = async ({ client }: Call, ids: readonly string[]): Promise<ReadonlyMap<string, Json>> => {
  const found = new Map<string, Json>()
  for (let from = 0; from < ids.length; from += pageMost) {
    const query = { ids: ids.slice(from, from + pageMost).join(','), limit: pageMost }
    let cursor: string | undefined
    do {
      const page = await client.get('/v1/operations', { ...query, cursor })
      for (const operation of itemsOf(page)) found.set(String(operation.id), operation)
      cursor = typeof page.next_cursor === 'string' ? page.next_cursor : undefined
    } while (cursor !== undefined)
  }
  return found
}

/** Where they are; of one that is not kept any longer nobody can say how it ended. */
const lookAgain = async (call: Call, open: readonly Json[]): Promise<readonly Json[]> => {
  const found = await lookAt(
    call,
    open.map(({ id }) => String(id)),
  )
  return open.map(
    ({ id }) =>
      found.get(String(id)) ?? {
        id,
        kind: 'Operation',
        machine: 'a machine',
        state: 'gone',
        finished_at: '',
        message: 'It is no longer kept.',
      },
  )
}

/**
 * Looks at operations until each has ended; the exit code is 0 when all were done. With `--timeout` it ends earlier:
 * what is open then goes on.
 */
export const followOperations = async (call: Call, begun: readonly Json[]): Promise<number> => {
  const { client, output, values } = call
  const waitLimitMs = (numberOf(values, 'timeout') ?? Number.POSITIVE_INFINITY) * 1_000
  const beganMs = performance.now()
  const ended: Json[] = []
  let open = begun
  for (let pauseMs = firstLookMs; ; pauseMs = Math.min(pauseMs * 1.5, slowestLookMs)) {
    const now = await lookAgain(call, open)
    for (const operation of now.filter(hasEnded)) {
      ended.push(operation)
      output.live('')
      output.line(statusOf(operation))
    }
    open = now.filter((operation) => !hasEnded(operation))
    const leftMs = waitLimitMs - (performance.now() - beganMs)
    if (open.length === 0 || leftMs <= 0) break
    output.live(lineOf(open, begun.length))
    await client.sleep(Math.min(pauseMs, leftMs))
  }
  if (open.length > 0) {
    output.live('')
    output.note(`The time is over: ${open.length} of ${begun.length} are open and go on. ${sayOpen(open)}`)
  }
  if (output.json) output.show({ items: [...ended, ...open] }, () => {})
  return codeOf(open.length === 0 && ended.every(({ state }) => state === 'completed'))
}

const sayOpen = (open: readonly Json[]): string =>
  open
    .slice(0, 3)
    .map((operation) => statusOf(operation))
    .join(' ')
