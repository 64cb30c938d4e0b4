import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import type { Front } from '../../config/front.ts'
import type { Sealer } from '../../seal/seal.ts'
import type { ApiEnv } from './env.ts'

export interface Session {
  /** 64 hexadecimal digits: tells sessions apart, and is of no use to get in. */
  readonly id: string
  readonly tokenId: string
  readonly expiresAtMs: number
}

const purpose = 'drover-session-1'

const signedBytes = (text: string): Buffer => Buffer.from(`${purpose} ${text}`, 'utf8')

/**
 * `<token id>.<expiry>.<mac>`: says which token signed in, never the token. Revoking it ends the session, and so
 * does a sign-out, which the database knows of.
 */
export const writeSession = (sealer: Sealer, session: Omit<Session, 'id'>): string => {
  const text = `${session.tokenId}.${session.expiresAtMs}`
  return `${text}.${sealer.mac(signedBytes(text)).toString('base64url')}`
}

/** The session in a cookie's value, if we signed it and it is not over by the clock. */
export const readSession = (sealer: Sealer, value: string, nowMs: number): Session | undefined => {
  const [tokenId = '', expiry = '', mac = '', ...rest] = value.split('.')
  if (rest.length > 0 || !/^[0-9a-f-]{36}$/.test(tokenId) || !/^\d{1,16}$/.test(expiry)) return undefined
  const text = `${tokenId}.${expiry}`
  if (!sealer.isMac(signedBytes(text), Buffer.from(mac, 'base64url'))) return undefined
  if (Number(expiry) <= nowMs) return undefined
  // Of what was signed, not of the signature, which another key would make differently.
  const id = createHash('sha256').update(text, 'utf8').digest('hex')
  return { id, tokenId, expiresAtMs: Number(expiry) }
}

/** Whether people reach us by TLS is what the operator says: a header could come from anybody. */
const isSecure = (front: Front): boolean => front.publicUrl?.protocol === 'https:'

/** `__Host-`: no other host of the domain can set it, and no page without TLS. */
const cookieName = (front: Front): string => (isSecure(front) ? '__Host-drover_session' : 'drover_session')

export const sessionCookie = (c: Context<ApiEnv>, front: Front): string | undefined =>
  getCookie(c, cookieName(front))

/** Not readable by scripts, not sent from other sites, and behind TLS never sent without it. */
export const setSessionCookie = (
  c: Context<ApiEnv>,
  front: Front,
  cookie: { readonly value: string; readonly maxAgeSeconds: number },
): void => {
  setCookie(c, cookieName(front), cookie.value, {
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
    maxAge: cookie.maxAgeSeconds,
    secure: isSecure(front),
  })
}

export const clearSessionCookie = (c: Context<ApiEnv>, front: Front): void => {
  deleteCookie(c, cookieName(front), { path: '/', secure: isSecure(front) })
}
