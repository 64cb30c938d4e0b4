import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import {
  anyAccessToken,
  findAccessTokenByHash,
  findAccessTokenById,
  type KnownToken,
  touchAccessToken,
} from '../../db/queries/find-access-token.ts'
import type { Actor, ApiDeps, ApiEnv, Role } from './env.ts'
import { isLoopbackAddress, isSameOrigin } from './peers.ts'
import { problem } from './problem.ts'
import { TokenBuckets } from './rate-limit.ts'
import { readSession, sessionCookie } from './session.ts'
import { hashSecret, sameHash } from './tokens.ts'

/** Remembered hashes of credentials that were good: they go on working while a neighbour guesses. */
const knownGoodMax = 1_000

/**
 * Finds out who a request comes from. Before the first token exists: whoever is on this machine, as `local`
 * admin. From then on: a bearer token or a session made from one. Wrong ones are counted per peer.
 */
export class Authenticator {
  readonly #deps: ApiDeps
  readonly #failures: TokenBuckets
  readonly #knownGood = new Set<string>()
  #anyToken = false

  constructor(deps: ApiDeps) {
    this.#deps = deps
    this.#failures = new TokenBuckets({
      clock: deps.clock,
      burst: deps.limits.failuresBurst,
      refillMs: deps.limits.failureRefillMs,
      keys: deps.limits.buckets,
    })
  }

  /** The actor of a request, or the problem to answer with. */
  async identify(c: Context<ApiEnv>): Promise<Actor> {
    const authorization = c.req.header('authorization')
    if (authorization !== undefined) return await this.#byBearer(c, authorization)
    const cookie = sessionCookie(c)
    const session = cookie === undefined ? undefined : await this.#bySession(c, cookie)
    if (session) return session
    return await this.#byPlace(c)
  }

  /** A live token by its secret, for a bearer header and for the login form. Throws when it is not good. */
  async checkSecret(peer: string, secret: string): Promise<KnownToken> {
    const hash = hashSecret(secret)
    const memory = hash.toString('base64')
    const waitMs = this.#knownGood.has(memory) ? 0 : this.#failures.waitMs(peer)
    if (waitMs > 0) throw tooManyFailures(waitMs)
    const token = await findAccessTokenByHash(this.#deps.db, hash)
    if (!token || !sameHash(token.hash, hash) || token.revoked || token.expired) {
      this.#knownGood.delete(memory)
      throw this.#fail(
        peer,
        token?.expired && !token.revoked ? 'The token has expired.' : 'The token is not valid.',
      )
    }
    this.#remember(memory)
    return token
  }

  async #byBearer(c: Context<ApiEnv>, authorization: string): Promise<Actor> {
    const [, secret] = /^Bearer ([\x21-\x7e]{16,256})$/i.exec(authorization) ?? []
    if (secret === undefined)
      throw this.#fail(c.get('peer'), 'The Authorization header is not `Bearer <token>`.')
    const token = await this.checkSecret(c.get('peer'), secret)
    this.#touch(token)
    return actorOf(token, 'token')
  }

  async #bySession(c: Context<ApiEnv>, cookie: string): Promise<Actor | undefined> {
    const session = readSession(this.#deps.sealer, cookie, this.#deps.clock.now())
    if (!session) return undefined
    const token = await findAccessTokenById(this.#deps.db, session.tokenId)
    if (!token || token.revoked || token.expired) return undefined
    requireSameOrigin(c)
    this.#touch(token)
    return actorOf(token, 'session')
  }

  async #byPlace(c: Context<ApiEnv>): Promise<Actor> {
    const peer = c.get('peer')
    if (!this.#anyToken) this.#anyToken = await anyAccessToken(this.#deps.db)
    if (this.#anyToken) throw this.#fail(peer, 'The request carries no token.')
    // Behind a proxy on this machine everybody seems to be local; a proxy says that it is one.
    const forwarded = c.req.header('x-forwarded-for') ?? c.req.header('forwarded')
    if (!isLoopbackAddress(peer) || forwarded !== undefined)
      throw this.#fail(peer, 'Until a token exists, Drover answers only on the machine it runs on.')
    requireSameOrigin(c)
    return { name: 'local', role: 'admin', by: 'local', tokenId: undefined }
  }

  #fail(peer: string, message: string) {
    const waitMs = this.#failures.take(peer)
    if (waitMs > 0) return tooManyFailures(waitMs)
    return problem('unauthenticated', message, {
      headers: { 'WWW-Authenticate': 'Bearer realm="drover", error="invalid_token"' },
    })
  }

  #remember(memory: string): void {
    if (this.#knownGood.size >= knownGoodMax) this.#knownGood.clear()
    this.#knownGood.add(memory)
  }

  /** Written now and then, and never waited for: a read must not become a write. */
  #touch(token: KnownToken): void {
    if (token.usedAgoMs !== null && token.usedAgoMs < this.#deps.limits.lastUsedMs) return
    touchAccessToken(this.#deps.db, token.id).catch((error: unknown) => {
      this.#deps.log.debug({ err: error }, 'the last use of a token was not written')
    })
  }
}

const tooManyFailures = (waitMs: number) =>
  problem('too-many-requests', 'Too many failed attempts to sign in from this address.', {
    retryAfterSeconds: waitMs / 1000,
  })

const requireSameOrigin = (c: Context<ApiEnv>): void => {
  if (!isSameOrigin(c.req.raw))
    throw problem('cross-origin', 'A page of another site tried to act with your rights.')
}

const actorOf = (token: KnownToken, by: 'token' | 'session'): Actor => ({
  name: `token/${token.name}`,
  role: token.role as Role,
  by,
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
