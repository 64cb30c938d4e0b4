import { createMiddleware } from 'hono/factory'
import { apiLimits } from '../wire/api-limits.ts'
import { problem } from '../wire/problem.ts'
import type { ApiEnv } from './env.ts'

/**
 * Reads a JSON body strictly, before any validator: UTF-8 or nothing (the platform's decoder would put in
 * replacement characters), bounded depth, no text that Postgres cannot store, no key that would reach a prototype.
 */
export const requireJsonBody = (required: boolean) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const bytes = new Uint8Array(await c.req.arrayBuffer())
    if (bytes.length === 0) {
      if (required) throw problem('body-missing', 'The request has no body.')
      await next()
      return
    }
    // A body of another type is refused by the route's own media-type gate, which knows what it takes.
    if (isJson(c.req.header('content-type'))) checkJson(bytes)
    await next()
  })

const isJson = (contentType: string | undefined): boolean =>
  /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType ?? '')

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** Throws the problem that a body has, if any. */
export const checkJson = (bytes: Uint8Array): void => {
  let text: string
  try {
    text = strictUtf8.decode(bytes)
  } catch {
    throw problem('bad-encoding', 'The body is not valid UTF-8.')
  }
  if (nesting(text) > apiLimits.jsonDepth)
    throw problem('json-too-deep', `The body is nested deeper than ${apiLimits.jsonDepth} levels.`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw problem('bad-json', `The body is not valid JSON: ${(error as Error).message}.`)
  }
  checkTexts(value, '')
}

/** Depth of brackets outside strings, before anything recursive sees the text. */
const nesting = (text: string): number => {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (inString) {
      if (character === '\\') at += 1
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') {
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (character === '}' || character === ']') depth -= 1
  }
  return deepest
}

const unstorable = /\p{Surrogate}|\0/u

const checkTexts = (value: unknown, path: string): void => {
  if (typeof value === 'string') {
    if (unstorable.test(value))
      throw problem('text-not-storable', `${path || 'The body'} holds a NUL or an unpaired surrogate.`, {
        field: path,
      })
    return
  }
  if (value === null || typeof value !== 'object') return
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__' || unstorable.test(key))
      throw problem('validation-failed', `${path || 'The body'} has a key that is not allowed.`, {
        field: path,
        errors: [{ field: path, message: 'has a key that is not allowed' }],
      })
    checkTexts(item, path ? `${path}.${key}` : key)
  }
}
