import type { z } from 'zod'
import { readBoundedJson } from '../http/bounded-json.ts'
import type { HttpAnswer } from '../http/platform-http.ts'
import { PlatformError } from '../ports/platform-error.ts'
import { type WireError, wireError } from './protocol.ts'

/** What the lab may send is checked before it is believed: it may be broken, or something else altogether. */
export const parseAnswer = <Schema extends z.ZodType>(
  answer: HttpAnswer,
  schema: Schema,
): z.infer<Schema> => {
  const read = readBoundedJson(answer.body)
  if ('refusal' in read) throw labAnswerInvalid(read.refusal)
  const parsed = schema.safeParse(read.value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw labAnswerInvalid(`${issue?.path.join('.') || 'it'}: ${issue?.message ?? 'not valid'}`)
}

/** The error that an answer of 400 and above is. A 404 is "absent" only when the lab itself says so. */
export const answerError = (answer: HttpAnswer): PlatformError => {
  const read = readBoundedJson(answer.body)
  const parsed = wireError.safeParse('refusal' in read ? undefined : read.value)
  if (parsed.success) return asPlatformError(parsed.data)
  if (answer.status === 429 || answer.status === 503) return overloaded(answer.status)
  return labAnswerInvalid(`status ${answer.status} without an error of the lab's`)
}

export const asPlatformError = (error: WireError): PlatformError =>
  new PlatformError({
    code: error.code,
    failure: error.failure,
    message: clip(error.message),
    remedy: clip(error.remedy),
  })

export const labAnswerInvalid = (why: string): PlatformError =>
  new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `The answer of the lab cannot be used: ${clip(why)}.`,
    remedy: 'Check that the address leads to a lab of this version (…/sites/<site>).',
  })

const overloaded = (status: number): PlatformError =>
  new PlatformError({
    code: status === 429 ? 'platform-overloaded' : 'platform-unreachable',
    failure: 'unknown',
    message: `The lab answers ${status}: it cannot serve us now.`,
    remedy: 'Nothing to do: the call is tried again.',
  })

const clip = (text: string): string => (text.length > 500 ? `${text.slice(0, 500)}…` : text)
