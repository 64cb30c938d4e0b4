import type { InstanceFacts } from '../../domain/inventory/facts.ts'
import { beginCall, type Call } from '../ports/call.ts'
import type { InventoryItem, InventoryPort, Scan, ScanOptions } from '../ports/inventory.ts'
import { PlatformError } from '../ports/platform-error.ts'
import type { Found } from '../ports/task.ts'
import { asPlatformError, labAnswerInvalid } from './lab-answer.ts'
import { readFacts } from './lab-facts.ts'
import type { LabLink } from './lab-link.ts'
import { labPath } from './lab-path.ts'
import { type InventoryPage, instanceAnswer, inventoryPage, type WireItem } from './protocol.ts'
import { wireLimits } from './wire-limits.ts'

/** Of one page; so many machines whose facts are unusually long still fit. */
const pageItems = 250
const pageBytes = 32 * 1024 * 1024
/** Pages may be empty, but not for ever. */
const mostPages = 4_000
/** A page is asked for within this, so that one that stalls is not taken for a large fleet. */
const pageMs = 120_000

export const labInventory = (link: LabLink): InventoryPort => ({
  scan: (call, options) =>
    readPages(link, call, options, { path: '/inventory', query: {}, vanished: 'leave-out' }),
  changes: (call, options) =>
    readPages(link, call, options, { path: '/changes', query: { since: options.cursor }, vanished: 'gone' }),
  instance: (call, ref) => findInstance(link, call, ref),
})

const findInstance = async (link: LabLink, call: Call, ref: string): Promise<Found<InstanceFacts>> => {
  const request = { method: 'GET', path: labPath`/instances/${ref}` } as const
  const answer = await link.find(call, request, instanceAnswer)
  if (!answer.found) return answer
  const value = readFacts('instance', answer.value.facts)
  if (value.ref !== ref) throw labAnswerInvalid(`${value.ref} where ${ref} was asked for`)
  return { found: true, value }
}

/** A machine that went away between its marker and the look at it. */
type Vanished = 'leave-out' | 'gone'

async function* readPages(
  link: LabLink,
  call: Call,
  options: ScanOptions,
  listing: { path: string; query: Record<string, string>; vanished: Vanished },
): Scan {
  const begun = beginCall(call)
  const within = { ...call, signal: begun.signal }
  const seen = new Set<string>()
  try {
    for (let page: string | undefined; ; ) {
      const query = { ...listing.query, page, limit: pageItems, scope: options.scopes }
      const answer: InventoryPage = await link.ask(
        { ...within, timeoutMs: Math.min(pageMs, call.timeoutMs) },
        { method: 'GET', path: listing.path, query, maxBytes: pageBytes },
        inventoryPage,
      )
      yield answer.items.filter((item) => !isMarker(item)).map(asItem)
      yield* readMarked(
        link,
        within,
        { ...options, vanished: listing.vanished },
        answer.items.filter(isMarker),
      )
      if (answer.next === null) return { cursor: answer.cursor }
      if (seen.has(answer.next)) throw labAnswerInvalid('pages that lead in a circle')
      if (seen.size >= mostPages) throw labAnswerInvalid(`more than ${mostPages} pages`)
      seen.add(answer.next)
      page = answer.next
    }
  } finally {
    begun.end()
  }
}

type Marker = Extract<WireItem, { type: 'problem' }>

/** The listing could not wait for this VM: it has to be asked for by itself. */
const isMarker = (item: WireItem): item is Marker =>
  item.type === 'problem' && item.of === 'instance' && item.ref !== ''

async function* readMarked(
  link: LabLink,
  call: Call,
  options: ScanOptions & { vanished: Vanished },
  markers: readonly Marker[],
): AsyncGenerator<readonly InventoryItem[], void> {
  const size = Math.max(1, options.concurrency)
  for (let from = 0; from < markers.length; from += size)
    yield (
      await Promise.all(
        markers.slice(from, from + size).map((marker) => readMarkedOne(link, call, options, marker)),
      )
    ).flat()
}

const readMarkedOne = async (
  link: LabLink,
  call: Call,
  options: ScanOptions & { vanished: Vanished },
  marker: Marker,
): Promise<InventoryItem[]> => {
  try {
    const found = await findInstance(link, { ...call, timeoutMs: options.itemTimeoutMs }, marker.ref)
    if (found.found) return [{ type: 'instance', facts: found.value }]
    return options.vanished === 'gone' ? [{ type: 'gone', of: 'instance', ref: marker.ref }] : []
  } catch (error) {
    call.signal.throwIfAborted()
    if (!(error instanceof PlatformError) || !concernsOne(error)) throw error
    return [{ type: 'problem', of: 'instance', ref: marker.ref, name: marker.name, error }]
  }
}

/**
 * A lost session or a wrong certificate is everybody's trouble: then nothing may be concluded from the rest. What an
 * account may not see is a matter of each machine.
 */
const concernsOne = ({ class: kind, code }: PlatformError): boolean =>
  code === 'platform-permission' || (kind !== 'config' && code !== 'platform-session-lost')

const asItem = (item: WireItem): InventoryItem => {
  if (item.type === 'gone') return { type: 'gone', of: item.of, ref: item.ref }
  if (item.type === 'problem') return { ...item, error: asPlatformError(item.error) }
  const { facts } = item
  try {
    return { type: item.type, facts: readFacts(item.type, facts) } as InventoryItem
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return { type: 'problem', of: item.type, ref: refOf(facts.ref), name: textOf(facts.name), error }
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What is too long for an id is none. */
const refOf = (value: unknown): string => (textOf(value).length > wireLimits.refChars ? '' : textOf(value))
