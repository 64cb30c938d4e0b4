import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { ApiDeps, ApiEnv } from '../http/env.ts'
import { escapeHtml, page } from '../http/pages.ts'
import { isSameOrigin } from '../http/peers.ts'
import { clearSessionCookie, setSessionCookie, writeSession } from '../http/session.ts'
import { ApiError, problem } from '../wire/problem.ts'
import type { Authenticator } from './auth.ts'

/** The way in for browsers: a token is typed once, and a signed cookie stands for it until it ends. */
export const login = (deps: ApiDeps, authenticator: Authenticator): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  app.use(async (c, next) => {
    // A form of another site must not sign somebody in or out.
    if (!isSameOrigin(c.req.raw, deps.front))
      throw problem('cross-origin', 'The form belongs to another site.')
    await next()
  })
  app.use(
    '/login',
    bodyLimit({
      maxSize: deps.limits.loginBytes,
      onError: () => {
        throw problem('body-too-large', `The form is larger than ${deps.limits.loginBytes} bytes.`)
      },
    }),
  )
  app.get('/login', (c) => c.html(form(localPath(c.req.query('next')))))
  app.post('/login', async (c) => {
    const type = c.req.header('content-type') ?? ''
    if (!/^(application\/x-www-form-urlencoded|multipart\/form-data)/i.test(type))
      throw problem('media-type', 'The login form sends application/x-www-form-urlencoded.')
    const fields = await c.req.parseBody()
    const next = localPath(typeof fields.next === 'string' ? fields.next : undefined)
    const secret = typeof fields.token === 'string' ? fields.token.trim() : ''
    try {
      const token = await authenticator.checkSecret(c.get('peer'), secret)
      await deps.signIns.started(token, c.get('peer'))
      const expiresAtMs = deps.clock.now() + deps.limits.sessionMs
      const value = writeSession(deps.sealer, { tokenId: token.id, expiresAtMs })
      const maxAgeSeconds = Math.floor(deps.limits.sessionMs / 1000)
      setSessionCookie(c, deps.front, { value, maxAgeSeconds })
      return c.redirect(next, 303)
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 429)) throw error
      for (const [name, value] of Object.entries(error.headers))
        if (name === 'Retry-After') c.header(name, value)
      return c.html(form(next, error.message), error.status)
    }
  })
  app.post('/logout', async (c) => {
    const found = await authenticator.sessionOf(c)
    if (found) await deps.signIns.ended(found.session, found.token, c.get('peer'))
    clearSessionCookie(c, deps.front)
    return c.redirect('/login', 303)
  })
  return app
}

/** Signs that a browser drops or turns into others before it reads a path. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const unsafeSigns = /[\\\u0000-\u0020\u007f-\u00a0\u2028\u2029]/

const elsewhere = 'http://drover.invalid'

/**
 * Where to go after the login: a path of ours, never another site. `//host`, `/\host` and `/.//host` are other sites
 * to a browser, and so is what becomes one of them where somebody on the way decodes it; so what comes back is a path
 * that nobody reads differently, however often.
 */
export const localPath = (next: string | undefined): string => {
  if (next === undefined || !next.startsWith('/') || unsafeSigns.test(next)) return '/'
  if (!URL.canParse(next, elsewhere)) return '/'
  const { origin, pathname, search } = new URL(next, elsewhere)
  return origin === elsewhere && isPlainPath(pathname) ? pathname + search : '/'
}

/** Whether a path stays what it is when it is decoded, up to the end. */
const isPlainPath = (pathname: string): boolean => {
  let path = pathname
  for (let round = 0; round < 5; round += 1) {
    if (unsafeSigns.test(path) || /\/\/|\/\.\.?(\/|$)/.test(path)) return false
    if (!path.includes('%')) return true
    try {
      path = decodeURIComponent(path)
    } catch {
      return false
    }
  }
  return false
}

const form = (next: string, error?: string): string =>
  page({
    title: 'Sign in',
    body: `${error === undefined ? '' : `<p class="error" role="alert" id="error">${escapeHtml(error)}</p>`}
<form method="post" action="/login">
<input type="hidden" name="next" value="${escapeHtml(next)}">
<label for="token">Token</label>
<input id="token" name="token" type="password" required autocomplete="current-password" spellcheck="false"${
      error === undefined ? '' : ' aria-invalid="true" aria-describedby="error"'
    }>
<p class="dim">Drover printed the first one when it was started for the first time; an admin can create more.</p>
<button type="submit">Sign in</button>
</form>`,
  })
