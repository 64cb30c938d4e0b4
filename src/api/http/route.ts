import { createRoute, OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi'
import { createMiddleware } from 'hono/factory'
import { fieldErrors, problem, problemSchema, validationProblem } from '../wire/problem.ts'
import { requireJsonBody } from './body.ts'
import { type ApiEnv, type Role, roles } from './env.ts'

type RouteSpec = Omit<RouteConfig, 'path' | 'security' | 'middleware' | 'tags'> & {
  /** The least role that may call it. There is no default, on purpose. */
  readonly role: Role
  readonly tag: string
}

/** A sub-app for one resource. A value that does not fit its schema becomes a 422 with every field. */
export const newResource = (): OpenAPIHono<ApiEnv> =>
  new OpenAPIHono<ApiEnv>({
    defaultHook: (result) => {
      if (!result.success) throw validationProblem(fieldErrors(result.error))
    },
  })

/** Lets the actor through when its role is at least `least`. */
export const requireRole = (least: Role) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const { role } = c.get('actor')
    if (roles.indexOf(role) < roles.indexOf(least))
      throw problem('forbidden', `This needs the role ${least}; you are ${role}.`)
    await next()
  })

const problemResponse = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
})

const commonProblems = {
  401: problemResponse('No valid token'),
  403: problemResponse('The role is not enough'),
  429: problemResponse('Too many requests; see Retry-After'),
  503: problemResponse('The database is away; see Retry-After'),
  default: problemResponse('Any other failure'),
}

const bodyProblems = {
  400: problemResponse('The body is not JSON'),
  409: problemResponse('In conflict with the current state, or with another use of the Idempotency-Key'),
  413: problemResponse('The body is too large'),
  415: problemResponse('The body is of another type'),
  422: problemResponse('Not valid; `errors` lists every field'),
}

/** Declared, not validated here: idempotency.ts reads it. */
const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable characters')
    .optional()
    .openapi({
      description: 'The same key with the same request gives the stored answer again, for 24 hours.',
    }),
})

/** A change of a thing with versions: `If-Match` must name the ETag that was read. */
export const ifMatchHeaders = z.object({
  'if-match': z.string().max(300).optional().openapi({
    description: 'Required (428 without): the ETag that was read. `*` overwrites whatever is there.',
  }),
})

const preconditionProblems = {
  412: problemResponse('It was changed since it was read'),
  428: problemResponse('If-Match is required'),
}

/**
 * Declares one operation: its role, its failures and, for a POST, its Idempotency-Key. A verb is a last path
 * segment such as `:verb{:retry}`: to the router a parameter that matches only the literal `:retry`, because
 * Hono reads a bare `:retry` as a parameter that matches anything. openapi.ts shows it as `:retry`.
 */
export const defineRoute = <P extends string, R extends RouteSpec & { path: P }>(spec: R) => {
  const { role, tag, ...config } = spec
  const post = spec.method === 'post'
  const headers = spec.request?.headers ?? (post ? idempotencyHeaders : undefined)
  // A misspelt filter would choose everything.
  const query = spec.request?.query instanceof z.ZodObject ? { query: spec.request.query.strict() } : {}
  const body = spec.request?.body
  const byVersion = spec.request?.headers === ifMatchHeaders
  const route = createRoute({
    ...config,
    ...(spec.request || headers
      ? { request: { ...spec.request, ...query, ...(headers ? { headers } : {}) } }
      : {}),
    tags: [tag],
    security: [{ bearer: [] }, { session: [] }],
    'x-role': role,
    middleware: [requireRole(role), ...(body ? [requireJsonBody(body.required === true)] : [])],
    responses: {
      ...spec.responses,
      ...commonProblems,
      ...(body || post ? bodyProblems : {}),
      ...(spec.path.includes('{') ? { 404: problemResponse('There is no such thing') } : {}),
      ...(byVersion ? preconditionProblems : {}),
    },
  } as unknown as RouteConfig & { path: P })
  // To handlers only their own answers are typed; failures are thrown and become problems in one place.
  return route as unknown as Omit<R, 'role' | 'tag'> & { getRoutingPath(): string }
}

/** A JSON answer in a route's declaration. */
export const json = <S extends z.ZodType>(schema: S, description: string) => ({
  description,
  content: { 'application/json': { schema } },
})

/** A required JSON body in a route's declaration. */
export const jsonBody = <S extends z.ZodType>(schema: S) => ({
  required: true as const,
  content: { 'application/json': { schema } },
})

export const idParams = z.object({
  id: z
    .uuid('must be an id, such as 0199c0de-0000-7000-8000-000000000000')
    .openapi({ param: { name: 'id', in: 'path' } }),
})

export const moment = (date: Date): string => date.toISOString()
export const momentOrNull = (date: Date | null): string | null => date?.toISOString() ?? null
