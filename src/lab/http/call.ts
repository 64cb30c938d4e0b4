import type { IncomingMessage } from 'node:http'
import type { z } from 'zod'
import { wireLimits } from '../../platforms/lab/wire-limits.ts'
import type { Lab } from '../model/context.ts'
import type { FaultRule } from '../model/fault-rule.ts'
import { invalid } from '../model/refusal.ts'
import type { StoredFault } from '../store/faults.ts'
import type { Site } from '../store/sites.ts'
import type { Tasks } from '../tasks/tasks.ts'

/** What a handler of a site's call gets. */
export interface SiteCall {
  readonly lab: Lab
  readonly tasks: Tasks
  readonly site: Site
  /** The lab's time when the call came. */
  readonly now: number
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Parsed JSON, for calls that take it. */
  readonly body: unknown
  readonly request: IncomingMessage
  readonly caller: string
  /** The idempotency name; empty when there is none. */
  readonly name: string
  readonly token: string
  /** The faults that strike this very call. */
  readonly struck: readonly FaultRule[]
  /** All that are set, for what looks at many machines. */
  readonly faults: readonly StoredFault[]
}

export type Answer =
  | { readonly status: number; readonly json: unknown }
  /** JSON that is text already. */
  | { readonly status: number; readonly text: string }
  | { readonly status: number; readonly bytes: Buffer }
  | { readonly status: 204 }

export interface SiteRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `/instances/:ref`, below the site. */
  readonly path: string
  /** The name of the call, for faults and the recording; one that depends on what is asked is a function. */
  readonly call: string | ((body: unknown) => string)
  /** What the body is; left out: none is read. */
  readonly takes?: 'json' | 'bytes'
  /** Answers without a session. */
  readonly open?: boolean
  readonly handle: (call: SiteCall) => Promise<Answer>
}

export const parseAs = <Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> => {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalid(`${issue?.path.join('.') || 'The body'}: ${issue?.message ?? 'is not valid'}.`)
}

export const wholeNumber = (query: URLSearchParams, name: string, fallback?: number): number => {
  const text = query.get(name)
  const value = text === null || text === '' ? fallback : Number(text)
  if (value === undefined || !Number.isSafeInteger(value) || value < 0)
    throw invalid(`"${name}" has to be a whole number.`)
  return value
}

/** Reads a body whole, and refuses one that is larger than `maxBytes` as soon as it is. */
export const readBody = async (request: IncomingMessage, maxBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw invalid(`A body of this call has at most ${maxBytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export const readJson = async (request: IncomingMessage): Promise<unknown> => {
  const body = await readBody(request, wireLimits.bodyBytes)
  if (body.length === 0) return {}
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw invalid('The body is not JSON.')
  }
}

/** Finds the route of a path; patterns have `:name` for one part, which is percent-decoded. */
export const matchPath = (pattern: string, path: string): Record<string, string> | undefined => {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? ''
    if (!part.startsWith(':')) {
      if (part !== value) return undefined
      continue
    }
    try {
      params[part.slice(1)] = decodeURIComponent(value)
    } catch {
      return undefined
    }
  }
  return params
}
