import type { IncomingMessage, ServerResponse } from 'node:http'
import { headers, statusOf } from '../../platforms/lab/protocol.ts'
import type { FaultRule } from '../model/fault-rule.ts'
import { absent, Refusal, refuse, wireErrorOf } from '../model/refusal.ts'
import type { Recorder } from '../store/calls.ts'
import { type Prelude, readPrelude } from '../store/sites.ts'
import { type ActOn, perform } from '../tasks/acts.ts'
import { ofKind, type StruckFault, strike } from '../tasks/faults.ts'
import type { Stalls } from '../tasks/stalls.ts'
import type { Tasks } from '../tasks/tasks.ts'
import { type Answer, matchPath, readJson, type SiteRoute } from './call.ts'
import { cutShort } from './cut-short.ts'
import { type Delivery, deliver } from './deliver.ts'
import { bearer, header } from './request-headers.ts'

/** A call as it came in, as far as it is understood. */
interface Incoming {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
  readonly siteName: string
  readonly route: SiteRoute
  readonly params: Readonly<Record<string, string>>
  readonly call: string
  readonly body: unknown
  readonly struck: StruckFault[]
}

/** Answers the calls of all sites: finds out who asks for what, applies faults, does it, and writes it down. */
export class SiteServer {
  readonly #on: ActOn
  readonly #tasks: Tasks
  readonly #recorder: Recorder
  readonly #stalls: Stalls
  readonly #routes: readonly SiteRoute[]

  constructor(options: {
    on: ActOn
    tasks: Tasks
    recorder: Recorder
    stalls: Stalls
    routes: readonly SiteRoute[]
  }) {
    this.#on = options.on
    this.#tasks = options.tasks
    this.#recorder = options.recorder
    this.#stalls = options.stalls
    this.#routes = options.routes
  }

  async serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const began = performance.now()
    const wallAt = this.#on.lab.clock.now()
    let incoming: Incoming | undefined
    let aheadMs = 0
    let delivery: Delivery
    try {
      incoming = await this.#understand(request, response, url)
      const prelude = await this.#strike(incoming)
      aheadMs = prelude.offsetMs
      delivery = await this.#do(incoming, prelude)
    } catch (thrown) {
      // A caller that left in the middle of its body is no defect, and there is nobody to tell.
      const nobodyThere = request.destroyed && !request.complete
      delivery =
        thrown === cutShort || nobodyThere
          ? { kind: 'cut' }
          : { kind: 'error', error: this.#errorOf(thrown, url) }
    }
    // What may have changed something is on record before anybody hears of it.
    const recorded = this.#record({ request, url, incoming, delivery, wallAt, aheadMs, began })
    const stored = recorded.catch((error: unknown) =>
      this.#on.lab.log.error({ err: error }, 'a call could not be recorded yet'),
    )
    if (request.method !== 'GET') await stored
    deliver(response, delivery)
  }

  async #understand(request: IncomingMessage, response: ServerResponse, url: URL): Promise<Incoming> {
    const [, , siteName = '', ...rest] = url.pathname.split('/')
    const path = `/${rest.join('/')}`
    for (const route of this.#routes) {
      if (route.method !== request.method) continue
      const params = matchPath(route.path, path)
      if (!params) continue
      const body = route.takes === 'json' ? await readJson(request) : undefined
      const call = typeof route.call === 'string' ? route.call : route.call(body)
      return {
        request,
        response,
        url,
        siteName,
        route,
        params,
        call,
        body,
        struck: [],
      }
    }
    throw absent(`call ${request.method} ${path.slice(0, 100)}`)
  }

  /** Finds the faults that strike the call, and lets those that change the world do so first. */
  async #strike(incoming: Incoming): Promise<Prelude> {
    const { siteName, call, params, request, struck } = incoming
    const prelude = await this.#prelude(incoming)
    const target = {
      call,
      site: siteName,
      machine: params.ref ?? '',
      caller: header(request, headers.caller),
    }
    struck.push(...(await strike(this.#on.lab, prelude.faults, target)))
    if (!ofKind(struck, 'act')) return prelude
    for (const fault of struck) if (fault.kind === 'act') await perform(this.#on, fault.do)
    return await this.#prelude(incoming)
  }

  async #prelude({ siteName, request }: Incoming): Promise<Prelude> {
    const asked = { site: siteName, token: bearer(request) }
    let prelude = await readPrelude(this.#on.lab, asked)
    if (prelude?.due) {
      await this.#tasks.settle()
      prelude = await readPrelude(this.#on.lab, asked)
    }
    if (!prelude)
      throw refuse('platform-unreachable', 'The lab has no world yet.', 'Make one: POST /lab/worlds.')
    return prelude
  }

  async #do(incoming: Incoming, prelude: Prelude): Promise<Delivery> {
    const { struck, response } = incoming
    const hostile = ofKind(struck, 'answer')
    if (hostile) return { kind: 'hostile', fault: hostile }
    for (const fault of struck) {
      if (fault.kind === 'delay') await pause(fault.ms, response)
      if (fault.kind === 'stall' && !fault.after) await this.#stall(fault, response)
      if (fault.kind === 'error' && !fault.after) throw asRefusal(fault)
    }
    const answer = await this.#handle(incoming, prelude)
    for (const fault of struck) {
      if (fault.kind === 'stall' && fault.after) await this.#stall(fault, response)
      if (fault.kind === 'error' && fault.after) throw asRefusal(fault)
      if (fault.kind === 'lost-answer') throw cutShort
    }
    return { kind: 'answer', answer }
  }

  /** Until its time is over, somebody removes the fault, or the caller has gone. */
  #stall({ id, ms }: Extract<StruckFault, { kind: 'stall' }>, response: ServerResponse): Promise<void> {
    return this.#stalls.hold(id, (released) => pause(ms ?? foreverMs, response, released))
  }

  async #handle(incoming: Incoming, prelude: Prelude): Promise<Answer> {
    const { request, url, siteName, route, params, body, struck } = incoming
    const { site } = prelude
    if (!site) throw absent(`site "${siteName.slice(0, 100)}"`)
    const token = bearer(request)
    if (!route.open && !prelude.signedIn) throw notSignedIn(token)
    return await route.handle({
      lab: this.#on.lab,
      tasks: this.#tasks,
      site,
      now: this.#on.lab.clock.now() + prelude.offsetMs,
      params,
      query: url.searchParams,
      body,
      request,
      caller: header(request, headers.caller),
      name: header(request, headers.name),
      token,
      struck,
      faults: prelude.faults,
    })
  }

  #errorOf(thrown: unknown, url: URL) {
    if (!(thrown instanceof Refusal))
      this.#on.lab.log.error({ err: thrown, path: url.pathname }, 'a call of the lab failed')
    return wireErrorOf(thrown)
  }

  #record(told: {
    request: IncomingMessage
    url: URL
    incoming: Incoming | undefined
    delivery: Delivery
    wallAt: number
    aheadMs: number
    began: number
  }): Promise<void> {
    const { request, incoming, delivery } = told
    const name = header(request, headers.name)
    const faults = incoming?.struck.map((fault) => fault.kind) ?? []
    return this.#recorder.add({
      at: new Date(told.wallAt + told.aheadMs),
      wallAt: new Date(told.wallAt),
      tookMs: performance.now() - told.began,
      caller: header(request, headers.caller),
      site: incoming?.siteName ?? told.url.pathname.split('/')[2] ?? '',
      call: incoming?.call ?? 'unknown',
      machine: incoming?.params.ref ?? '',
      name: name === '' ? null : name,
      fault: faults.length === 0 ? null : faults.join(','),
      ...outcomeOf(delivery),
    })
  }
}

const outcomeOf = (delivery: Delivery): { status: number | null; outcome: string } => {
  switch (delivery.kind) {
    case 'answer':
      return { status: delivery.answer.status, outcome: 'ok' }
    case 'error':
      return { status: statusOf[delivery.error.code], outcome: delivery.error.code }
    case 'cut':
      return { status: null, outcome: 'no answer' }
    case 'hostile':
      return { status: null, outcome: `answer: ${delivery.fault.shape}` }
  }
}

const notSignedIn = (token: string): Refusal =>
  token === ''
    ? refuse('platform-authentication', 'Nobody is signed in.', 'Sign in: POST /session.')
    : refuse('platform-session-lost', 'The session is over.', 'Sign in anew.')

const asRefusal = (fault: Extract<FaultRule, { kind: 'error' }>): Refusal =>
  new Refusal({
    code: fault.code,
    failure: fault.failure,
    message: fault.message,
    remedy: 'Somebody asked for this fault at the lab.',
  })

const foreverMs = 2 ** 31 - 1

/** Resolves after `ms` or when `released`; rejects when the caller has gone: then there is nobody left to answer. */
const pause = (ms: number, response: ServerResponse, released?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = (settle: () => void) => () => {
      clearTimeout(timer)
      response.off('close', gone)
      released?.removeEventListener('abort', over)
      settle()
    }
    const over = end(resolve)
    const gone = end(() => reject(cutShort))
    const timer = setTimeout(over, ms)
    response.once('close', gone)
    released?.addEventListener('abort', over)
    if (released?.aborted) over()
    if (response.destroyed) gone()
  })
