import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { SiteRow } from '../db/schema/inventory.ts'
import { readSettings, type SiteRole } from '../src/domain/inventory/site-settings.ts'
import { DroverError } from '../src/errors.ts'
import { type OpenPlatform, openers } from '../src/platforms/open.ts'
import type { ConnectionWatch, PlatformKind } from '../src/platforms/ports/connection.ts'
import type { Platform } from '../src/platforms/ports/ports.ts'
import type { Sealer } from '../src/seal/seal.ts'
import { sitePasswordPlace } from '../src/seal/seal-places.ts'
import { withRedactedInventory } from './redacted-inventory.ts'
import { siteSealBroken } from './site-seal-broken.ts'
import { withoutSecret } from './without-secret.ts'

/** What a connection is made of. */
export type SiteConnection = Pick<
  SiteRow,
  'id' | 'role' | 'name' | 'kind' | 'endpoint' | 'username' | 'secret' | 'ca' | 'fingerprint' | 'settings'
>

export interface PlatformsOptions {
  readonly sealer: Sealer
  /** Who calls, for the platforms' own records. */
  readonly caller: string
  /** An open platform that nobody uses for this long is closed. */
  readonly idleMs?: number
  /** How many unused ones stay open. */
  readonly idleMax?: number
  readonly openers?: Readonly<Record<string, OpenPlatform>>
  /** Who hears how a platform answers, whichever job asked it. */
  readonly watch?: (site: SiteConnection) => ConnectionWatch
}

interface Entry {
  readonly siteId: string
  readonly version: string
  readonly platform: Platform
  readonly password: string
  users: number
  /** Closed when its last user is done: the connection was changed, or it failed. */
  retired: boolean
  idle: NodeJS.Timeout | undefined
}

const storedSecret = z.object({ password: z.string() })

/**
 * The open platforms of a process, one a site, shared by all its jobs so that sessions are few. The only place where
 * a password is opened; what a platform throws leaves it without the password.
 */
export class Platforms {
  readonly #options: PlatformsOptions
  readonly #entries = new Map<string, Entry>()
  readonly #closing = new Set<Promise<void>>()
  #closed = false

  constructor(options: PlatformsOptions) {
    this.#options = options
  }

  /** How many are open now. */
  get size(): number {
    return this.#entries.size
  }

  /** Works with the platform of a site as its row says now. */
  async use<Result>(site: SiteConnection, work: (platform: Platform) => Promise<Result>): Promise<Result> {
    const entry = this.#take(site)
    try {
      return await work(entry.platform)
    } catch (thrown) {
      // Whoever comes next signs in anew: a session that was refused is not worth keeping.
      if (thrown instanceof DroverError && thrown.class === 'config') entry.retired = true
      throw withoutSecret(thrown, [entry.password])
    } finally {
      this.#give(entry)
    }
  }

  /** Ends every session. What is in use is closed under its user: the process ends. */
  async close(): Promise<void> {
    this.#closed = true
    for (const entry of [...this.#entries.values()]) this.#drop(entry)
    await Promise.all(this.#closing)
  }

  #take(site: SiteConnection): Entry {
    if (this.#closed) throw new Error('The worker is going away.')
    const version = versionOf(site)
    const known = this.#entries.get(site.id)
    if (known && known.version === version && !known.retired) return hold(known)
    if (known) this.#retire(known)
    const entry = this.#open(site, version)
    this.#entries.set(site.id, entry)
    return hold(entry)
  }

  #open(site: SiteConnection, version: string): Entry {
    const { caller, watch } = this.#options
    // The kind is part of what the password is bound to: one that was written into the row is told by the seal.
    const password = this.#openSecret(site)
    const open = (this.#options.openers ?? openers)[site.kind as PlatformKind]
    if (!open) throw unknownKind(site.kind)
    const settings = readSettings(site.role as SiteRole, site.settings)
    const opened = open({
      kind: site.kind as PlatformKind,
      endpoint: site.endpoint,
      username: site.username,
      password,
      ca: site.ca,
      fingerprint: site.fingerprint,
      caller,
      connectTimeoutMs: settings.connection_timeout_seconds * 1_000,
      ...(watch ? { watch: watch(site) } : {}),
    })
    const platform = withRedactedInventory(opened, [password])
    return { siteId: site.id, version, platform, password, users: 0, retired: false, idle: undefined }
  }

  #openSecret(site: SiteConnection): string {
    if (site.secret === null) return ''
    try {
      return storedSecret.parse(JSON.parse(this.#options.sealer.open(site.secret, sitePasswordPlace(site))))
        .password
    } catch (thrown) {
      if (!(thrown instanceof DroverError)) throw thrown
      const error = siteSealBroken(site, thrown)
      this.#options.watch?.(site).failed(error)
      throw error
    }
  }

  #give(entry: Entry): void {
    entry.users -= 1
    if (entry.users > 0) return
    if (entry.retired || this.#closed) {
      this.#drop(entry)
      return
    }
    entry.idle = setTimeout(() => this.#drop(entry), this.#options.idleMs ?? 120_000)
    entry.idle.unref()
    const unused = [...this.#entries.values()].filter(({ users }) => users === 0)
    const oldest = unused[0]
    if (oldest && unused.length > (this.#options.idleMax ?? 50)) this.#drop(oldest)
  }

  #retire(entry: Entry): void {
    entry.retired = true
    if (this.#entries.get(entry.siteId) === entry) this.#entries.delete(entry.siteId)
    if (entry.users === 0) this.#drop(entry)
  }

  #drop(entry: Entry): void {
    clearTimeout(entry.idle)
    if (this.#entries.get(entry.siteId) === entry) this.#entries.delete(entry.siteId)
    const closing: Promise<void> = entry.platform
      .close()
      .catch(() => {})
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}

const hold = (entry: Entry): Entry => {
  clearTimeout(entry.idle)
  entry.users += 1
  return entry
}

/** Changes with anything that a connection is made of. */
const versionOf = (site: SiteConnection): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        site.kind,
        site.endpoint,
        site.username,
        site.secret?.toString('base64') ?? null,
        site.ca,
        site.fingerprint,
        site.settings,
      ]),
    )
    .digest('base64')

const unknownKind = (kind: string): DroverError =>
  new DroverError({
    code: 'platform-kind-unknown',
    class: 'config',
    message: `This worker has no driver for "${kind}".`,
    remedy: 'Update the worker, or correct the kind of the source or target.',
    field: 'kind',
  })
