import { createMiddleware } from 'hono/factory'
import type { ApiEnv } from './env.ts'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Bull Board's page sets styles inline and its own <base>; it still loads nothing from elsewhere. */
export const boardPolicy = policy
  .replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
  .replace("base-uri 'none'", "base-uri 'self'")
  .concat("; font-src 'self'")

/** Headers that every answer carries. A route that needs another policy sets it itself. */
export const securityHeaders = createMiddleware<ApiEnv>(async (c, next) => {
  await next()
  const { headers } = c.res
  if (!headers.has('Content-Security-Policy')) headers.set('Content-Security-Policy', policy)
  headers.set('X-Content-Type-Options', 'nosniff')
  headers.set('X-Frame-Options', 'DENY')
  // Not no-referrer: with that, browsers send `Origin: null` with our own forms, which looks like another site.
  headers.set('Referrer-Policy', 'same-origin')
  headers.set('Cross-Origin-Opener-Policy', 'same-origin')
  headers.set('Cross-Origin-Resource-Policy', 'same-origin')
  if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store')
})
