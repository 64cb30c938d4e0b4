import type { Context } from 'hono'
import type { ApiDeps, ApiEnv, FeedEvent } from '../../api/http/env.ts'
import { openStream } from '../../api/resources/jobs/event-stream.ts'
import { isDatabaseAway } from '../../api/wire/problem.ts'
import { printable, printableHtml } from '../../print/printable.mjs'
import { type Page, partHtml } from './page.ts'

/** A person sees no difference below this, and a fleet at full speed writes thousands of events a second. */
const gapMs = 400
/** Some things change without an event: progress, heartbeats, a bell store that went away. */
const tickMs = 2_500
/** A page may use this share of the time for its queries: the slower it is, the rarer it looks. */
const restFactor = 4

type Send = (text: string) => Promise<void>

/**
 * Keeps open pages up to date. All who look at the same page with the same rights share one look at the
 * database; what is sent are the parts that changed, as HTML made by the function that made the page.
 */
export class LivePages {
  readonly #deps: ApiDeps
  readonly #rooms = new Map<string, Room>()

  constructor(deps: ApiDeps) {
    this.#deps = deps
  }

  /** Answers with a stream of the page's changes, beginning with all of it. */
  serve(c: Context<ApiEnv>, key: string, render: () => Promise<Page>): Response {
    return openStream(c, this.#deps, ({ send, end }) => {
      const room = this.#rooms.get(key) ?? new Room(this.#deps, render, () => this.#rooms.delete(key))
      this.#rooms.set(key, room)
      return room.enter(send, end)
    })
  }
}

class Room {
  readonly #deps: ApiDeps
  readonly #render: () => Promise<Page>
  readonly #empty: () => void
  readonly #viewers = new Map<Send, () => void>()
  readonly #newcomers = new Set<Send>()
  readonly #closed = new AbortController()
  readonly #shown = new Map<string, string>()
  #leaveFeed: () => void = () => {}
  #everyMs = tickMs
  #wakesOn: (event: FeedEvent) => boolean = () => true
  #dirty = true
  #wake: () => void = () => {}

  constructor(deps: ApiDeps, render: () => Promise<Page>, empty: () => void) {
    this.#deps = deps
    this.#render = render
    this.#empty = empty
  }

  /** Adds a viewer; the function that comes back takes it away again. The last one to leave ends the room. */
  enter(send: Send, end: () => void): () => void {
    this.#viewers.set(send, end)
    this.#newcomers.add(send)
    if (this.#viewers.size === 1) this.#open()
    this.#touch()
    return () => {
      this.#viewers.delete(send)
      this.#newcomers.delete(send)
      if (this.#viewers.size === 0) this.#close()
    }
  }

  #open(): void {
    this.#leaveFeed = this.#deps.events.subscribe(
      { after: 'now', onEnd: () => this.#endAll() },
      async (events) => {
        if (events.some(this.#wakesOn)) this.#touch()
      },
    )
    this.#run().catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'a live page ended with an error')
      this.#endAll()
    })
  }

  #close(): void {
    this.#empty()
    this.#closed.abort()
    this.#leaveFeed()
    this.#wake()
  }

  #endAll(): void {
    for (const end of this.#viewers.values()) end()
  }

  #touch(): void {
    this.#dirty = true
    this.#wake()
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps
    const { signal } = this.#closed
    while (!signal.aborted) {
      if (!this.#dirty) await this.#nextChange()
      this.#dirty = false
      const beganMs = clock.monotonicMs()
      if (!signal.aborted) await this.#look()
      const tookMs = clock.monotonicMs() - beganMs
      // A newcomer never waits for the pause: it would look at a page that is older than it must be.
      if (this.#newcomers.size === 0) await clock.sleep(Math.max(gapMs, tookMs * restFactor), signal)
    }
  }

  async #nextChange(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      timer = setTimeout(resolve, this.#everyMs)
    })
    clearTimeout(timer)
    this.#wake = () => {}
  }

  async #look(): Promise<void> {
    const newcomers = [...this.#newcomers]
    this.#newcomers.clear()
    let page: Page
    try {
      page = await this.#render()
    } catch (error) {
      await this.#tellTrouble(error)
      for (const newcomer of newcomers) if (this.#viewers.has(newcomer)) this.#newcomers.add(newcomer)
      await this.#deps.clock.sleep(tickMs, this.#closed.signal)
      return
    }
    this.#wakesOn = page.wakesOn ?? (() => true)
    this.#everyMs = page.everyMs ?? tickMs
    const { changed, all } = await this.#frames(page)
    const known = [...this.#viewers.keys()].filter((send) => !newcomers.includes(send))
    await Promise.all([
      ...known.map((send) => (changed === '' ? undefined : send(changed))),
      ...newcomers.map((send) => send(all)),
    ])
  }

  async #frames(page: Page): Promise<{ changed: string; all: string }> {
    const texts = new Map<string, string>()
    for (const part of page.parts)
      texts.set(part.id, frame('part', { id: part.id, html: printableHtml(String(await partHtml(part))) }))
    texts.set('', frame('announce', { text: printable(page.announce ?? '') }))
    const changed = [...texts].filter(([id, text]) => this.#shown.get(id) !== text).map(([, text]) => text)
    this.#shown.clear()
    for (const [id, text] of texts) this.#shown.set(id, text)
    return { changed: changed.join(''), all: [...texts.values()].join('') }
  }

  /** The page stays as it is, and says that it is old. */
  async #tellTrouble(error: unknown): Promise<void> {
    const away = isDatabaseAway(error)
    if (!away) this.#deps.log.warn({ err: error }, 'a live page could not be made; it is tried again')
    this.#shown.clear()
    const text = away ? 'The database does not answer' : 'This page could not be brought up to date'
    await Promise.all([...this.#viewers.keys()].map((send) => send(frame('trouble', { text }))))
  }
}

const frame = (event: string, data: unknown): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
