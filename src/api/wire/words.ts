import { z } from '@hono/zod-openapi'
import { many } from '../../domain/text/sentence.ts'

/** The kinds of values, as people say them. */
const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  date: 'a time',
}

const orMore = (issue: { readonly origin: string; readonly minimum: number | bigint }): string => {
  if (issue.origin === 'string')
    return issue.minimum === 1
      ? 'must not be empty'
      : `must have at least ${many(Number(issue.minimum), 'character')}`
  if (issue.origin === 'array' || issue.origin === 'set')
    return `must have at least ${many(Number(issue.minimum), 'entry', 'entries')}`
  return `must be ${issue.minimum} or more`
}

const atMost = (issue: { readonly origin: string; readonly maximum: number | bigint }): string => {
  if (issue.origin === 'string') return `must have at most ${many(Number(issue.maximum), 'character')}`
  if (issue.origin === 'array' || issue.origin === 'set')
    return `must have at most ${many(Number(issue.maximum), 'entry', 'entries')}`
  return `must be ${issue.maximum} or less`
}

/** What is wrong with a value, for people; what a schema says of itself goes before. Undefined: the validator's own words. */
const say: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_type') {
    if (issue.input === undefined) return 'is missing'
    return kinds[issue.expected] === undefined ? undefined : `must be ${kinds[issue.expected]}`
  }
  if (issue.code === 'invalid_value')
    return issue.values.length === 1
      ? `must be ${String(issue.values[0])}`
      : `must be one of ${issue.values.map(String).join(', ')}`
  if (issue.code === 'too_small') return orMore(issue)
  if (issue.code === 'too_big') return atMost(issue)
  if (issue.code !== 'invalid_format') return undefined
  if (issue.format === 'uuid') return 'must be an id, such as 0199c0de-0000-7000-8000-000000000000'
  return issue.format === 'datetime' ? 'must be a time, such as 2026-11-18T00:00:00Z' : undefined
}

/** Whoever validates in this process says what is wrong in these words. */
export const speakPlainly = (): void => {
  z.config({ customError: say })
}
