import type { Context } from 'hono'
import type { ApiEnv } from './env.ts'
import { ApiError, isOurFault, renderProblem, toApiError } from './problem.ts'

/** Turns anything thrown into an answer. The only place in the API that does. */
export const answerError = (thrown: unknown, c: Context<ApiEnv>): Response => {
  const error = toApiError(thrown)
  const { status } = error
  const headers = new Headers({ 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' })
  if (error instanceof ApiError)
    for (const [name, value] of Object.entries(error.headers)) headers.set(name, value)
  if (status === 503 && !headers.has('Retry-After')) headers.set('Retry-After', '2')
  if (isOurFault(status)) c.get('log').error({ err: causeOf(error) }, 'a request failed')
  else if (status === 503) c.get('log').warn({ err: causeOf(error) }, 'a request was refused for now')
  return new Response(JSON.stringify(renderProblem(error, c.get('requestId'))), { status, headers })
}

const causeOf = (error: ReturnType<typeof toApiError>): unknown => {
  const facts = error instanceof ApiError ? error : error.error
  return facts.cause ?? facts
}
