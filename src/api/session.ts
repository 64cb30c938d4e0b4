import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { Sealer } from '../seal.ts'
import type { ApiEnv } from './env.ts'
import { sameHash } from './tokens.ts'

const cookieName = 'drover_session'

export interface Session {
  readonly tokenId: string
  readonly expiresAtMs: number
}

const purpose = 'drover-session-1'

const sign = (sealer: Sealer, text: string): Buffer => sealer.mac(Buffer.from(`${purpose} ${text}`, 'utf8'))

/** `<token id>.<expiry>.<mac>`: says which token signed in, never the token. Revoking it ends the session. */
export const writeSession = (sealer: Sealer, session: Session): string => {
  const text = `${session.tokenId}.${session.expiresAtMs}`
  return `${text}.${sign(sealer, text).toString('base64url')}`
}

/** The session in a cookie's value, if we signed it and it is not over. */
export const readSession = (sealer: Sealer, value: string, nowMs: number): Session | undefined => {
  const [tokenId = '', expiry = '', mac = '', ...rest] = value.split('.')
  if (rest.length > 0 || !/^[0-9a-f-]{36}$/.test(tokenId) || !/^\d{1,16}$/.test(expiry)) return undefined
  if (!sameHash(sign(sealer, `${tokenId}.${expiry}`), Buffer.from(mac, 'base64url'))) return undefined
  return Number(expiry) > nowMs ? { tokenId, expiresAtMs: Number(expiry) } : undefined
}

export const sessionCookie = (c: Context<ApiEnv>): string | undefined => getCookie(c, cookieName)

/** Not readable by scripts, not sent from other sites. Secure behind TLS; a plain loopback has none. */
export const setSessionCookie = (c: Context<ApiEnv>, value: string, maxAgeSeconds: number): void => {
  const secure = new URL(c.req.url).protocol === 'https:' || c.req.header('x-forwarded-proto') === 'https'
  setCookie(c, cookieName, value, {
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
    maxAge: maxAgeSeconds,
    secure,
  })
}

export const clearSessionCookie = (c: Context<ApiEnv>): void => {
  deleteCookie(c, cookieName, { path: '/' })
}
