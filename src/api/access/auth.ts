import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import {
  findAccessTokenByHash,
  findTokenOfSession,
  type KnownToken,
  touchAccessToken,
} from '../../../db/queries/access/find-access-token.ts'
import type { Front } from '../../config/front.ts'
import { sameBytes } from '../../seal/seal.ts'
import type { Actor, ApiDeps, ApiEnv, Role } from '../http/env.ts'
import { isSameOrigin } from '../http/peers.ts'
import { TokenBuckets } from '../http/rate-limit.ts'
import { readSession, type Session, sessionCookie } from '../http/session.ts'
import { problem } from '../wire/problem.ts'
import { LiveTokens } from './live-tokens.ts'
import { hashSecret } from './tokens.ts'

/**
 * Finds out who a request comes from: a bearer token, or a session made from one. Wrong secrets are counted per peer,
 * and nothing else is: what carries no secret cannot keep those out who sign in from the same address.
 */
export class Authenticator {
  readonly #deps: ApiDeps
  readonly #failures: TokenBuckets
  readonly #anonymous: TokenBuckets
  readonly #live: LiveTokens

  constructor(deps: ApiDeps) {
    this.#deps = deps
    const { clock, limits } = deps
    const keys = limits.buckets
    this.#failures = new TokenBuckets({
      ...{ clock, keys },
      burst: limits.failuresBurst,
      refillMs: limits.failureRefillMs,
    })
    this.#anonymous = new TokenBuckets({
      ...{ clock, keys },
      burst: limits.anonymousBurst,
      refillMs: 1_000 / limits.anonymousPerSecond,
    })
    this.#live = new LiveTokens(deps)
  }

  /** The actor of a request, or the problem to answer with. */
  async identify(c: Context<ApiEnv>): Promise<Actor> {
    const authorization = c.req.header('authorization')
    if (authorization !== undefined) return await this.#byBearer(c, authorization)
    const found = await this.sessionOf(c)
    if (!found)
      throw this.#nobody(c.get('peer'), 'The request carries no token, and no session that is live.')
    requireSameOrigin(c, this.#deps.front)
    this.#touch(found.token)
    return { ...actorOf(found.token), by: 'session', session: found.session }
  }

  /** A live token by its secret, for a bearer header and for the login form. Throws when it is not good. */
  async checkSecret(peer: string, secret: string): Promise<KnownToken> {
    const hash = hashSecret(secret)
    const waitMs = this.#failures.waitMs(peer)
    if (waitMs > 0 && !(await this.#live.mayBe(hash))) {
      this.#deps.signIns.failed(peer)
      throw tooManyFailures(waitMs)
    }
    const token = await findAccessTokenByHash(this.#deps.db, hash)
    if (token && sameBytes(token.hash, hash) && !token.revoked && !token.expired) return token
    this.#deps.signIns.failed(peer)
    const takenMs = this.#failures.take(peer)
    if (takenMs > 0) throw tooManyFailures(takenMs)
    throw unauthenticated(
      token?.expired && !token.revoked ? 'The token has expired.' : 'The token is not valid.',
    )
  }

  /** The session of the request's cookie and its token, while both are live. */
  async sessionOf(c: Context<ApiEnv>): Promise<{ session: Session; token: KnownToken } | undefined> {
    const cookie = sessionCookie(c, this.#deps.front)
    if (cookie === undefined) return undefined
    const session = readSession(this.#deps.sealer, cookie, this.#deps.clock.now())
    if (!session) return undefined
    const token = await findTokenOfSession(this.#deps.db, session)
    return token && !token.revoked && !token.expired ? { session, token } : undefined
  }

  async #byBearer(c: Context<ApiEnv>, authorization: string): Promise<Actor> {
    const [, secret] = /^Bearer ([\x21-\x7e]{16,256})$/i.exec(authorization) ?? []
    if (secret === undefined)
      throw this.#nobody(c.get('peer'), 'The Authorization header is not `Bearer <token>`.')
    const token = await this.checkSecret(c.get('peer'), secret)
    this.#touch(token)
    return { ...actorOf(token), by: 'token' }
  }

  /** For what carries no secret at all: it has a limit of its own, and is answered without the database. */
  #nobody(peer: string, message: string) {
    const waitMs = this.#anonymous.take(peer)
    if (waitMs === 0) return unauthenticated(message)
    return problem('too-many-requests', 'Too many requests without a token from this address.', {
      retryAfterSeconds: waitMs / 1000,
    })
  }

  /** Written now and then, and never waited for: a read must not become a write. */
  #touch(token: KnownToken): void {
    if (token.usedAgoMs !== null && token.usedAgoMs < this.#deps.limits.lastUsedMs) return
    touchAccessToken(this.#deps.db, token.id).catch((error: unknown) => {
      this.#deps.log.debug({ err: error }, 'the last use of a token was not written')
    })
  }
}

const unauthenticated = (message: string) =>
  problem('unauthenticated', message, {
    headers: { 'WWW-Authenticate': 'Bearer realm="drover", error="invalid_token"' },
  })

const tooManyFailures = (waitMs: number) =>
  problem('too-many-requests', 'Too many failed attempts to sign in from this address.', {
    retryAfterSeconds: waitMs / 1000,
  })

const requireSameOrigin = (c: Context<ApiEnv>, front: Front): void => {
  if (!isSameOrigin(c.req.raw, front))
    throw problem('cross-origin', 'A page of another site tried to act with your rights.')
}

const actorOf = (token: KnownToken): Omit<Actor, 'by'> => ({
  name: `token/${token.name}`,
  role: token.role as Role,
  tokenId: token.id,
})

const publicPaths = new Set(['/healthz', '/readyz', '/login', '/logout'])

/** What answers without knowing who asks: health, the way in, and the files of the pages' looks. */
export const isPublic = (path: string): boolean => publicPaths.has(path) || path.startsWith('/assets/')

/** A browser that opens a page without being signed in belongs at the login form. */
const wantsPage = (c: Context<ApiEnv>): boolean =>
  c.req.method === 'GET' &&
  !c.req.path.startsWith('/v1/') &&
  (c.req.header('accept') ?? '').includes('text/html')

/** Every request but the public ones has an actor from here on. */
export const authenticate = (authenticator: Authenticator) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    if (isPublic(c.req.path)) return await next()
    try {
      c.set('actor', await authenticator.identify(c))
    } catch (error) {
      const { code } = error as { code?: string }
      if (code !== 'unauthenticated' || c.req.header('authorization') !== undefined || !wantsPage(c))
        throw error
      const { pathname, search } = new URL(c.req.url)
      return c.redirect(`/login?next=${encodeURIComponent(pathname + search)}`, 303)
    }
    return await next()
  })
