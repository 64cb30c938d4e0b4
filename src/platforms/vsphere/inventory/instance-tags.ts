import { createHash } from 'node:crypto'
import type { Call } from '../../ports/call.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { readingLimits } from '../soap/odd-answer.ts'
import type { Vapi } from '../soap/vapi.ts'

/** By ref of the machine: names of tags by their category. */
export type Tags = ReadonlyMap<string, Readonly<Record<string, readonly string[]>>>

interface NamedTag {
  readonly category: string
  readonly name: string
}

export const noTags: Tags = new Map()

/** How many tags are asked for in one call, and how many calls run at once. */
const chunk = 100
const atOnce = 8

/** All tags of all machines; none where the server knows no tags. */
export const readTags = async (vapi: Vapi, call: Call): Promise<Tags> => {
  if (!(await vapi.available(call))) return noTags
  const ids = bounded(vapi, stringsOf(await vapi.get(call, '/tagging/tag')))
  if (ids.length === 0) return noTags
  const named = await nameTags(vapi, call, ids)
  const found = new Map<string, NamedTag[]>()
  let places = 0
  for (let from = 0; from < ids.length; from += chunk) {
    const body = { tag_ids: ids.slice(from, from + chunk) }
    const answer = await vapi.act(call, '/tagging/tag-association', 'list-attached-objects-on-tags', body)
    for (const { tag_id, object_ids } of listOf(answer)) {
      const tag = named.get(nameIn(tag_id))
      for (const { type, id } of tag ? listOf(object_ids) : []) {
        if (type !== 'VirtualMachine' || typeof id !== 'string') continue
        places += 1
        if (places > readingLimits.taggedMachines)
          throw vapi.refuse(`its tags hang on more than ${readingLimits.taggedMachines} machines`)
        const known = found.get(id)
        if (known) known.push(tag as NamedTag)
        else found.set(id, [tag as NamedTag])
      }
    }
  }
  return new Map([...found].map(([ref, tags]) => [ref, byCategory(tags)]))
}

/** The tags of one machine. */
export const readTagsOf = async (vapi: Vapi, call: Call, ref: string): Promise<Tags> => {
  if (!(await vapi.available(call))) return noTags
  const body = { object_id: { type: 'VirtualMachine', id: ref } }
  const attached = await vapi.act(call, '/tagging/tag-association', 'list-attached-tags', body)
  const ids = bounded(vapi, stringsOf(attached))
  const named = await nameTags(vapi, call, ids)
  return new Map([[ref, byCategory([...named.values()])]])
}

const nameTags = async (
  vapi: Vapi,
  call: Call,
  ids: readonly string[],
): Promise<ReadonlyMap<string, NamedTag>> => {
  const tags = await eachKnown(ids, (id) => vapi.get(call, '/tagging/tag', id))
  const categoryIds = [...new Set([...tags.values()].map((tag) => nameIn(tag.category_id)))]
  const categories = await eachKnown(categoryIds, (id) => vapi.get(call, '/tagging/category', id))
  return new Map(
    [...tags].map(([id, tag]) => [
      id,
      { name: nameIn(tag.name), category: nameIn(categories.get(nameIn(tag.category_id))?.name) },
    ]),
  )
}

/** A few at a time; what was removed while we looked is left out. */
const eachKnown = async (
  ids: readonly string[],
  read: (id: string) => Promise<unknown>,
): Promise<ReadonlyMap<string, Record<string, unknown>>> => {
  const found = new Map<string, Record<string, unknown>>()
  const left = [...ids]
  const work = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const answer = await read(id).catch((error: unknown) => {
        if (error instanceof PlatformError && error.failure === 'absent') return undefined
        throw error
      })
      if (typeof answer === 'object' && answer !== null) found.set(id, answer as Record<string, unknown>)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, ids.length) }, work))
  return found
}

const byCategory = (tags: readonly NamedTag[]): Readonly<Record<string, readonly string[]>> => {
  const names = new Map<string, Set<string>>()
  for (const { category, name } of tags) {
    const known = names.get(category) ?? new Set()
    names.set(category, known.add(name))
  }
  return Object.fromEntries([...names].map(([category, set]) => [category, [...set].sort()]))
}

const bounded = (vapi: Vapi, ids: readonly string[]): readonly string[] => {
  if (ids.length > readingLimits.tags) throw vapi.refuse(`it has more than ${readingLimits.tags} tags`)
  return ids
}

/** Longer names are cut with the facts of the machine; what is no text has none. */
const longestName = 512
const nameIn = (value: unknown): string => (typeof value === 'string' ? value.slice(0, longestName) : '')

const listOf = (answer: unknown): readonly Record<string, unknown>[] =>
  Array.isArray(answer) ? answer.filter((one) => typeof one === 'object' && one !== null) : []

const stringsOf = (answer: unknown): readonly string[] =>
  Array.isArray(answer) ? answer.filter((one) => typeof one === 'string') : []

const buckets = 512
const bucketBytes = 4

/**
 * A digest of all tags in little room, from which can be told whose tags may have changed: each machine belongs
 * to one of many buckets, and each bucket has a digest of its own.
 */
export const digestTags = (tags: Tags): Buffer => {
  const digest = Buffer.alloc(buckets * bucketBytes)
  for (const [ref, names] of tags) {
    const entries = Object.entries(names).sort(([left], [right]) => (left < right ? -1 : 1))
    const own = createHash('sha1')
      .update(JSON.stringify([ref, entries]))
      .digest()
    const at = bucketOf(ref) * bucketBytes
    for (let byte = 0; byte < bucketBytes; byte += 1)
      digest[at + byte] = (digest[at + byte] as number) ^ (own[byte] as number)
  }
  return digest
}

/** Whether the tags of a machine may be others now than when the earlier digest was made. */
export const tagsMayDiffer = (earlier: Buffer, now: Buffer): ((ref: string) => boolean) | undefined => {
  if (earlier.equals(now)) return undefined
  return (ref) => {
    const at = bucketOf(ref) * bucketBytes
    return !earlier.subarray(at, at + bucketBytes).equals(now.subarray(at, at + bucketBytes))
  }
}

const bucketOf = (ref: string): number => createHash('sha1').update(ref).digest().readUInt16BE(18) % buckets
