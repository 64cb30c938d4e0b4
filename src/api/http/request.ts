import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { v7 as uuidv7 } from 'uuid'
import { localPeer, peerOf } from '../../config/front.ts'
import { counter, histogram, withRemoteParent, withSpan } from '../../process/telemetry.ts'
import { problem } from '../wire/problem.ts'
import type { Actor, ApiDeps, ApiEnv } from './env.ts'
import { isLocalSocket } from './local-socket.ts'
import type { TokenBuckets } from './rate-limit.ts'

const requests = counter('api_requests_total', 'Requests answered, by method, route and status.', [
  'method',
  'route',
  'status',
])
const durations = histogram('api_request_seconds', 'How long answers took, by method and route.', [
  'method',
  'route',
])

const requestIdPattern = /^[A-Za-z0-9._-]{8,64}$/

/** Names the request, so that an answer, a log line and a report can be brought together; logs and counts it. */
export const trackRequest = (deps: ApiDeps) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const sent = c.req.header('x-request-id')
    const requestId = sent !== undefined && requestIdPattern.test(sent) ? sent : uuidv7()
    c.set('requestId', requestId)
    const socket = c.env?.incoming?.socket
    const peer =
      socket && isLocalSocket(socket)
        ? localPeer
        : peerOf(socket?.remoteAddress, c.req.header('x-forwarded-for'), deps.front.trustedProxies)
    c.set('peer', peer)
    c.set('log', deps.log.child({ request: requestId, peer }))
    const startMs = deps.clock.monotonicMs()
    await next()
    c.res.headers.set('X-Request-Id', requestId)
    const tookMs = deps.clock.monotonicMs() - startMs
    const { method } = c.req
    // The pattern, never the path: a label for each job would be a leak.
    const route = c.res.status === 404 ? 'unknown' : routePath(c, -1)
    requests.inc({ method, route, status: String(c.res.status) })
    durations.observe({ method, route }, tookMs / 1000)
    c.get('log').debug(
      { method, path: c.req.path, status: c.res.status, tookMs: Math.round(tookMs) },
      'answered',
    )
  })

/** A span for each request, as a child of the caller's: a job keeps it, and its work shows beneath it. */
export const traceRequest = createMiddleware<ApiEnv>(async (c, next) => {
  await withRemoteParent(c.req.header('traceparent'), () =>
    withSpan(`${c.req.method} request`, { 'drover.request': c.get('requestId') }, next),
  )
})

/** Refuses a URL that no request of ours needs. Node itself refuses headers that are too large (serve.ts). */
export const limitUrl = (maxBytes: number) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    if (c.req.url.length > maxBytes)
      throw problem('url-too-long', `The URL is longer than ${maxBytes} bytes.`)
    await next()
  })

/**
 * So many requests for each actor, however many connections they come over. Where there is none their peer stands for
 * them; the way in has room of its own there, and who sends a token is judged by the token (`SignIns`): what a
 * neighbour asks for must not keep anybody out.
 */
export const limitRate = (buckets: TokenBuckets) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const isWayIn = c.req.path === '/login'
    if (isWayIn && c.req.method === 'POST') return await next()
    const actor = c.get('actor') as Actor | undefined
    const key = actor ? `actor ${actor.name}` : `${isWayIn ? 'way in of' : 'peer'} ${c.get('peer')}`
    const waitMs = buckets.take(key)
    if (waitMs > 0)
      throw problem('too-many-requests', 'You send more requests than Drover lets one user send.', {
        retryAfterSeconds: waitMs / 1000,
      })
    await next()
  })
