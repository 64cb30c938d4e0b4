import { lookup } from 'node:dns'
import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { refusesAddress } from './webhook-address.ts'

export interface WebhookPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Why a delivery failed, in words for the webhook's page. Holds neither the URL nor a secret. */
export type PostOutcome = { readonly delivered: true } | { readonly delivered: false; readonly why: string }

export interface WebhookSender {
  post(message: WebhookPost, signal: AbortSignal): Promise<PostOutcome>
  close(): void
}

const answerBytesMax = 64 * 1024

/**
 * Posts over kept-alive connections. No redirect is followed, the answer's body is thrown away and bounded, and
 * the address is judged where the connection is made, so that a name cannot point elsewhere in between.
 */
export const createWebhookSender = (options: {
  readonly requestMs: number
  readonly allowPrivate: boolean
}): WebhookSender => {
  const agentOptions = { keepAlive: true, maxSockets: 4, maxFreeSockets: 2, timeout: 30_000 }
  const http = new HttpAgent(agentOptions)
  const https = new HttpsAgent(agentOptions)
  const resolve: LookupFunction = (host, lookupOptions, answer) => {
    lookup(host, { ...lookupOptions, all: true }, (error, addresses) => {
      const refused = error ? undefined : addresses.find(({ address }) => refusesAddress(address, options))
      const problem = error ?? (refused || !addresses[0] ? new RefusedAddress() : null)
      if (problem || !addresses[0]) answer(problem, '', 4)
      else if (lookupOptions.all) answer(null, addresses)
      else answer(null, addresses[0].address, addresses[0].family)
    })
  }

  const attempt = (url: URL, message: WebhookPost, signal: AbortSignal): Promise<PostOutcome | 'stale'> =>
    new Promise((settle) => {
      const secure = url.protocol === 'https:'
      const request = (secure ? httpsRequest : httpRequest)(url, {
        method: 'POST',
        agent: secure ? https : http,
        lookup: resolve,
        signal,
        headers: { ...message.headers, 'content-length': String(Buffer.byteLength(message.body)) },
      })
      request.on('response', (response) => {
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > answerBytesMax) response.destroy()
        })
        response.on('error', () => {})
        settle(judge(response.statusCode ?? 0))
      })
      request.on('error', (error) => {
        // The receiver closed a kept connection just as we used it: that says nothing about the receiver.
        if (request.reusedSocket && codeOf(error) === 'ECONNRESET') settle('stale')
        else settle({ delivered: false, why: describe(error, signal, options.requestMs) })
      })
      request.end(message.body)
    })

  return {
    post: async (message, stopping) => {
      const url = parseTarget(message.url)
      if (!url) return { delivered: false, why: 'The URL is not a http or https URL.' }
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) !== 0 && refusesAddress(host, options))
        return { delivered: false, why: new RefusedAddress().message }
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(options.requestMs)])
      for (;;) {
        const outcome = await attempt(url, message, signal)
        if (outcome !== 'stale') return outcome
      }
    },
    close: () => {
      http.destroy()
      https.destroy()
    },
  }
}

class RefusedAddress extends Error {
  constructor() {
    super('The receiver has an address that webhooks may not be sent to.')
  }
}

const parseTarget = (text: string): URL | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined
}

const judge = (status: number): PostOutcome => {
  if (status >= 200 && status < 300) return { delivered: true }
  const redirect = status >= 300 && status < 400 ? '; redirects are not followed' : ''
  return { delivered: false, why: `The receiver answered ${status}${redirect}.` }
}

const codeOf = (error: Error): string | undefined =>
  'code' in error && typeof error.code === 'string' ? error.code : undefined

const describe = (error: Error, signal: AbortSignal, ms: number): string => {
  if (error instanceof RefusedAddress) return error.message
  if (signal.aborted) return `The receiver did not answer within ${ms} ms.`
  const code = codeOf(error)
  return `The receiver could not be reached (${code ?? 'connection failed'}).`
}
