import { Hono } from 'hono'
import type { Authenticator } from './auth.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { escapeHtml, page } from './pages.ts'
import { isSameOrigin } from './peers.ts'
import { ApiError, problem } from './problem.ts'
import { clearSessionCookie, setSessionCookie, writeSession } from './session.ts'

/** The way in for browsers: a token is typed once, and a signed cookie stands for it until it ends. */
export const login = (deps: ApiDeps, authenticator: Authenticator): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  app.use(async (c, next) => {
    // A form of another site must not sign somebody in or out.
    if (!isSameOrigin(c.req.raw)) throw problem('cross-origin', 'The form belongs to another site.')
    await next()
  })
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
      const expiresAtMs = deps.clock.now() + deps.limits.sessionMs
      const session = writeSession(deps.sealer, { tokenId: token.id, expiresAtMs })
      setSessionCookie(c, session, Math.floor(deps.limits.sessionMs / 1000))
      return c.redirect(next, 303)
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 429)) throw error
      for (const [name, value] of Object.entries(error.headers))
        if (name === 'Retry-After') c.header(name, value)
      return c.html(form(next, error.message), error.status)
    }
  })
  app.post('/logout', (c) => {
    clearSessionCookie(c)
    return c.redirect('/login', 303)
  })
  return app
}

/** Where to go after the login: a path of ours, never another site. */
export const localPath = (next: string | undefined): string => {
  if (next === undefined || !next.startsWith('/')) return '/'
  // `//host` and `/\host` are other sites to a browser; a URL parser agrees with it, a pattern might not.
  const url = new URL(next, 'http://drover.invalid')
  return url.origin === 'http://drover.invalid' ? url.pathname + url.search : '/'
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
