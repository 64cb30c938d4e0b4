import type { Context } from 'hono'
import { saidBeside } from '../../domain/text/sentence.ts'
import { ApiError, isOurFault, type Problem, renderProblem, toApiError } from '../wire/problem.ts'
import type { ApiEnv } from './env.ts'
import { escapeHtml, page } from './pages.ts'

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
  const problem = renderProblem(error, c.get('requestId'))
  if (!wantsHtml(c)) return new Response(JSON.stringify(problem), { status, headers })
  headers.set('Content-Type', 'text/html; charset=utf-8')
  return new Response(problemPage(problem), { status, headers })
}

/** A person with a browser gets a page; whoever asks the API gets a problem document, whatever it accepts. */
const wantsHtml = (c: Context<ApiEnv>): boolean =>
  !c.req.path.startsWith('/v1/') && (c.req.header('accept') ?? '').includes('text/html')

const problemPage = (problem: Problem): string =>
  page({
    title: problem.title,
    body: `<p>${escapeHtml(problem.detail)}</p>
${errorList(problem)}<p>${escapeHtml(problem.remedy)}</p>
<p class="dim">Code <code>${escapeHtml(problem.code)}</code>, <code>${escapeHtml(problem.instance)}</code></p>
<p><a href="/">Back to the overview</a></p>`,
  })

/** All that is wrong, where it is more than what the sentence says. */
const errorList = ({ detail, errors = [] }: Problem): string => {
  const lines = saidBeside(detail, errors)
  return lines.length === 0
    ? ''
    : `<ul>${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>\n`
}

const causeOf = (error: ReturnType<typeof toApiError>): unknown => {
  const facts = error instanceof ApiError ? error : error.error
  return facts.cause ?? facts
}
