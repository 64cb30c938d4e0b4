import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { judgedLookup, refusesAddress } from '../../address-rules.ts'
import { boundedSignal } from '../../bounded-signal.ts'
import { type FailedPost, failureOfCode, failureOfStatus } from './webhook-failure.ts'

export interface WebhookPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type PostOutcome = { readonly delivered: true } | FailedPost

export interface WebhookSender {
  post(message: WebhookPost, signal: AbortSignal): Promise<PostOutcome>
  close(): void
}

const answerBytesMax = 64 * 1024

/**
 * Posts over kept-alive connections. Redirects are not followed, the answer's body is bounded and discarded, and the
 * address is checked where the connection is made, so that a name cannot point elsewhere in between.
 */
export const createWebhookSender = (options: {
  readonly requestMs: number
  readonly allowPrivate: boolean
}): WebhookSender => {
  const agentOptions = { keepAlive: true, maxSockets: 4, maxFreeSockets: 2, timeout: 30_000 }
  const http = new HttpAgent(agentOptions)
  const https = new HttpsAgent(agentOptions)
  const resolve = judgedLookup(
    (address) => refusesAddress(address, options),
    () => new RefusedAddress(),
  )

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
        // The receiver closed a kept connection just as it was used: that says nothing about the receiver.
        if (request.reusedSocket && codeOf(error) === 'ECONNRESET') settle('stale')
        else settle({ delivered: false, ...describe(error, signal) })
      })
      request.end(message.body)
    })

  return {
    post: async (message, stopping) => {
      const url = parseTarget(message.url)
      if (!url) return { delivered: false, failure: 'address' }
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) !== 0 && refusesAddress(host, options)) return { delivered: false, failure: 'address' }
      // Covers the answer's body as well.
      const signal = boundedSignal(stopping, options.requestMs)
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

class RefusedAddress extends Error {}

const parseTarget = (text: string): URL | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined
}

const judge = (status: number): PostOutcome => {
  const failure = failureOfStatus(status)
  return failure ? { delivered: false, failure, detail: String(status) } : { delivered: true }
}

const codeOf = (error: Error): string | undefined =>
  'code' in error && typeof error.code === 'string' ? error.code : undefined

const describe = (error: Error, signal: AbortSignal): Pick<FailedPost, 'failure' | 'detail'> => {
  if (error instanceof RefusedAddress) return { failure: 'address' }
  if (signal.aborted) return { failure: 'no-answer', detail: 'timed out' }
  const code = codeOf(error)
  return { failure: failureOfCode(code), detail: code ?? 'connection failed' }
}
