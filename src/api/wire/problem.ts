import { z } from '@hono/zod-openapi'
import { HTTPException } from 'hono/http-exception'
import type { ZodError } from 'zod'
import { isDbAway, violatedConstraint } from '../../../db/client.ts'
import type { ErrorClass } from '../../domain/job/retry.ts'
import { asSentence } from '../../domain/text/sentence.ts'
import { DroverError } from '../../errors.ts'
import { classStatus, isProblemCode, type ProblemCode, problemCodes, titleOf } from './problem-codes.ts'
import type { ProblemStatus } from './problem-facts.ts'

export interface FieldError {
  readonly field: string
  readonly message: string
}

interface ProblemExtras {
  readonly remedy?: string
  readonly field?: string
  readonly errors?: readonly FieldError[]
  /** Where in the text of `field`, from 0. */
  readonly position?: number
  /** Of things that are counted: how many, and the first of them by name. */
  readonly counted?: { readonly matched: number; readonly sample: readonly string[] }
  readonly retryAfterSeconds?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

/** What the API throws: a DroverError that also knows its headers. Made by `problem()`. */
export class ApiError extends DroverError {
  readonly status: ProblemStatus
  readonly errors: readonly FieldError[] | undefined
  readonly position: number | undefined
  readonly counted: ProblemExtras['counted']
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ProblemCode, message: string, extras: ProblemExtras = {}) {
    const { status, remedy } = problemCodes[code]
    super(
      {
        code,
        class: classOf(status),
        message,
        remedy: extras.remedy ?? remedy,
        ...(extras.field === undefined ? {} : { field: extras.field }),
      },
      { cause: extras.cause },
    )
    this.name = 'ApiError'
    this.status = status
    this.errors = extras.errors
    this.position = extras.position
    this.counted = extras.counted
    this.headers = {
      ...extras.headers,
      ...(extras.retryAfterSeconds === undefined
        ? {}
        : { 'Retry-After': String(Math.max(1, Math.ceil(extras.retryAfterSeconds))) }),
    }
  }
}

const classOf = (status: ProblemStatus): ErrorClass => {
  if (status === 500) return 'bug'
  if (status === 503 || status === 429) return 'transient'
  return status === 409 || status === 412 ? 'conflict' : 'config'
}

/** An error answer of the API, to be thrown. */
export const problem = (code: ProblemCode, message: string, extras?: ProblemExtras): ApiError =>
  new ApiError(code, message, extras)

export const notFound = (what: string, id: string): ApiError =>
  problem('not-found', `There is no ${what} ${id}.`)

export const problemSchema = z
  .object({
    type: z.string().meta({ description: 'A page that explains the code.' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'What happened, as a sentence.' }),
    instance: z.string().meta({ description: 'The request, as urn:drover:request:<X-Request-Id>.' }),
    code: z.string().meta({ description: 'Stable, for programs.' }),
    remedy: z.string().meta({ description: 'What to do next.' }),
    field: z.string().optional(),
    errors: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
    position: z.int().optional().meta({ description: 'Where in the text of `field`, from 0.' }),
    blocker: z.string().optional().meta({ description: 'The id of what is in the way.' }),
    matched: z.int().optional().meta({ description: 'How many fit, where another number was confirmed.' }),
    sample: z.array(z.string()).optional().meta({ description: 'Names of the first of these.' }),
  })
  .openapi('Problem', {
    example: {
      type: '/docs#error-validation-failed',
      title: 'Request is not valid',
      status: 422,
      detail: 'kind: Required.',
      instance: 'urn:drover:request:0199c0de-0000-7000-8000-000000000000',
      code: 'validation-failed',
      remedy: 'Correct what is named, then ask again.',
      field: 'kind',
      errors: [{ field: 'kind', message: 'Required' }],
    },
  })

export type Problem = z.infer<typeof problemSchema>

/** Where zod found something wrong, as a person reads it: `payload.from.url`. Every field, not the first. */
export const fieldErrors = (error: ZodError, under = ''): FieldError[] =>
  error.issues.flatMap((issue) => {
    const path = [under, ...issue.path.map(String)].filter((part) => part !== '').join('.')
    if (issue.code !== 'unrecognized_keys') return [{ field: path, message: issue.message }]
    return issue.keys.map((key) => ({ field: path ? `${path}.${key}` : key, message: 'is not known' }))
  })

export const validationProblem = (errors: readonly FieldError[]): ApiError => {
  const [first] = errors
  const more = errors.length > 1 ? ` And ${errors.length - 1} more.` : ''
  const where = first?.field ? `${clip(first.field, textMax)}: ` : ''
  return problem('validation-failed', `${where}${asSentence(first?.message ?? 'not valid')}${more}`, {
    errors,
    ...(first?.field ? { field: first.field } : {}),
  })
}

/** Whether it was said of anything thrown that the database is away: it comes back by itself. */
export const isDatabaseAway = (thrown: unknown): boolean => {
  const error = toApiError(thrown)
  return error instanceof ApiError && error.code === 'database-away'
}

/** Anything thrown on the way of a request, as what the API answers. The one place where errors get a status. */
export const toApiError = (thrown: unknown): ApiError | ForeignProblem => {
  if (thrown instanceof ApiError) return thrown
  if (isDbAway(thrown)) {
    return problem('database-away', 'The database cannot be reached now.', {
      retryAfterSeconds: 2,
      cause: thrown,
    })
  }
  if (thrown instanceof DroverError) return foreignProblem(thrown)
  if (thrown instanceof HTTPException) return fromHono(thrown)
  return fromSql(thrown) ?? problem('unexpected', 'Something went wrong inside Drover.', { cause: thrown })
}

/** A DroverError from elsewhere, with the status that its code or its class asks for. */
export interface ForeignProblem {
  readonly error: DroverError
  readonly status: ProblemStatus
}

const foreignProblem = (error: DroverError): ApiError | ForeignProblem => {
  const decided = isProblemCode(error.code) ? problemCodes[error.code].status : classStatus(error.class)
  if (decided !== 500) return { error, status: decided }
  return problem('unexpected', 'Something went wrong inside Drover.', { cause: error })
}

/** Hono's validators throw these for a body that they cannot read. */
const fromHono = (exception: HTTPException): ApiError => {
  if (exception.status === 415) return problem('media-type', 'The body must be application/json.')
  if (exception.status === 413) return problem('body-too-large', 'The body is too large.')
  if (exception.status === 400) return problem('bad-json', 'The body is not valid JSON.')
  return problem('unexpected', 'Something went wrong inside Drover.', { cause: exception })
}

const sqlState = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined

/** Unique indexes over a name that a person chooses. */
const nameIndexes = new Set([
  'access_token_name',
  'webhook_name',
  'site_name',
  'batch_name',
  'image_name',
  'template_name',
])

/** SQLSTATEs that are the request's doing, or that pass by themselves. */
const fromSql = (thrown: unknown): ApiError | undefined => {
  const state = sqlState(thrown)
  if (nameIndexes.has(violatedConstraint(thrown) ?? ''))
    return problem('name-taken', 'Something else has this name already.', { field: 'name', cause: thrown })
  if (violatedConstraint(thrown) === 'template_place')
    return problem('template-place-taken', 'Another template has this name in this folder of the target.', {
      field: 'production',
      cause: thrown,
    })
  if (violatedConstraint(thrown) === 'waiver_place')
    return problem('waiver-exists', 'The rule is waived there already.', { field: 'rule', cause: thrown })
  if (state === '22021' || state === '22P05')
    return problem('text-not-storable', 'The request holds text that Postgres cannot store.', {
      cause: thrown,
    })
  // A statement or lock that took too long, a deadlock, a read-only standby after a switch-over.
  if (state && ['57014', '55P03', '40P01', '40001', '25006'].includes(state))
    return problem('deadline-passed', 'The database did not answer in time.', {
      retryAfterSeconds: 2,
      cause: thrown,
    })
  // The schema is not there yet: somebody has to migrate.
  if (state === '42P01' || state === '42703' || state === '3D000')
    return problem('database-away', 'The database is not migrated to this version.', {
      retryAfterSeconds: 5,
      remedy: 'Run `drover migrate`; look at /readyz.',
      cause: thrown,
    })
  if (state === '42501')
    return problem('database-away', 'The database refuses the API what it needs for this.', {
      retryAfterSeconds: 5,
      remedy: 'Run `drover migrate` of this version; see that the API signs in as a member of drover_api.',
      cause: thrown,
    })
  return undefined
}

/** A request names things as long as it likes; what is said of them stays short. */
const textMax = 200
const detailMax = 2_000
const errorsMax = 100

const clip = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…` : text

const clipped = (errors: readonly FieldError[]): FieldError[] =>
  errors
    .slice(0, errorsMax)
    .map(({ field, message }) => ({ field: clip(field, textMax), message: clip(message, detailMax) }))

/** The body of an error answer. Never holds a stack, a cause or anything of the server's inside. */
export const renderProblem = (error: ApiError | ForeignProblem, requestId: string): Problem => {
  const facts = error instanceof ApiError ? error : error.error
  return {
    type: `/docs#error-${facts.code}`,
    title: isProblemCode(facts.code) ? problemCodes[facts.code].title : titleOf(error.status),
    status: error.status,
    detail: clip(facts.message, detailMax),
    instance: `urn:drover:request:${requestId}`,
    code: facts.code,
    remedy: facts.remedy,
    ...(facts.field === undefined ? {} : { field: clip(facts.field, textMax) }),
    ...(error instanceof ApiError && error.errors ? { errors: clipped(error.errors) } : {}),
    ...(error instanceof ApiError && error.position !== undefined ? { position: error.position } : {}),
    ...(typeof facts.detail?.blocker === 'string' ? { blocker: facts.detail.blocker } : {}),
    ...countedOf(error instanceof ApiError ? error.counted : facts.detail),
  }
}

/** How many there are, where another number was confirmed. */
const countedOf = (counted: { readonly matched?: unknown; readonly sample?: unknown } | undefined) =>
  typeof counted?.matched === 'number' && Array.isArray(counted.sample)
    ? { matched: counted.matched, sample: counted.sample.map(String) }
    : {}

/** Whether the log should show it as ours. */
export const isOurFault = (status: number): boolean => status === 500
