import { createServer, type IncomingMessage, request as plainRequest, type ServerResponse } from 'node:http'
import { request as secureRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { atEnd } from './cleanup.ts'

/** A way to a vSphere that knows what passes: an exchange can be lost on purpose. Plain HTTP on our side. */
export interface SoapProxy {
  readonly port: number
  /** `http://127.0.0.1:<port>/sdk`. */
  readonly url: string
  /** Methods of vim25 in the order they came, and `PUT /folder/…` and the like for the rest. */
  readonly seen: readonly string[]
  /** The next answer to this is lost after the server has given it. */
  loseAnswer(what: string): void
  /** When each request of this kind came, in milliseconds. */
  at(what: string): readonly number[]
  /** The next request of this kind is cut before the server hears it. */
  cutBefore(what: string): void
  /** The next request of this kind is not heard, nor anything after it: as if we had died. */
  dieBefore(what: string): void
  /** The next upload whose path begins so is cut after that many bytes. */
  cutUpload(path: string, afterBytes: number): void
  /** The next answer whose path begins so is cut after that many bytes. */
  cutAnswer(path: string, afterBytes: number): void
  /** As `cutUpload`, and nothing passes any more: as if we had died. */
  dieInUpload(path: string, afterBytes: number): void
}

interface Plan {
  readonly what: string
  readonly kind: 'answer' | 'request' | 'upload' | 'download'
  readonly afterBytes: number
  readonly isDeadly: boolean
}

export const startSoapProxy = async (target: string): Promise<SoapProxy> => {
  const plans: Plan[] = []
  const seen: string[] = []
  const times: { readonly what: string; readonly at: number }[] = []
  let isDead = false
  const plan = (what: string, kind: Plan['kind'], more: Partial<Plan> = {}) =>
    void plans.push({ what, kind, afterBytes: 0, isDeadly: false, ...more })
  const take = (what: string, kind: Plan['kind']): Plan | undefined => {
    const at = plans.findIndex((one) => one.kind === kind && what.startsWith(one.what))
    const found = at === -1 ? undefined : plans.splice(at, 1)[0]
    isDead ||= found?.isDeadly ?? false
    return found
  }
  const note = (what: string) => {
    seen.push(what)
    times.push({ what, at: performance.now() })
  }
  const server = createServer((incoming, answer) => {
    answer.on('error', () => {})
    if (isDead) return void answer.destroy()
    void pass({ target, note, take }, incoming, answer).catch(() => answer.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  atEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}/sdk`,
    seen,
    at: (what) => times.filter((one) => one.what === what).map((one) => one.at),
    loseAnswer: (what) => plan(what, 'answer'),
    cutBefore: (what) => plan(what, 'request'),
    dieBefore: (what) => plan(what, 'request', { isDeadly: true }),
    cutUpload: (what, afterBytes) => plan(what, 'upload', { afterBytes }),
    cutAnswer: (what, afterBytes) => plan(what, 'download', { afterBytes }),
    dieInUpload: (what, afterBytes) => plan(what, 'upload', { afterBytes, isDeadly: true }),
  }
}

interface Passing {
  readonly target: string
  readonly note: (what: string) => void
  readonly take: (what: string, kind: Plan['kind']) => Plan | undefined
}

const pass = async ({ target, note, take }: Passing, incoming: IncomingMessage, answer: ServerResponse) => {
  const path = incoming.url ?? ''
  const upload = incoming.method === 'GET' ? undefined : take(path, 'upload')
  const download = take(path, 'download')
  const isSoap = path.startsWith('/sdk')
  const body = isSoap ? await collect(incoming) : undefined
  const what = body ? methodIn(body.toString()) : `${incoming.method} ${path}`
  note(what)
  if (take(what, 'request')) return void answer.destroy()
  const losesAnswer = take(what, 'answer') !== undefined
  const send = target.startsWith('https:') ? secureRequest : plainRequest
  const outgoing = send(new URL(path, target), {
    method: incoming.method ?? 'GET',
    headers: { ...incoming.headers, host: new URL(target).host },
    rejectUnauthorized: false,
    agent: false,
  })
  outgoing.on('error', () => answer.destroy())
  outgoing.on('response', (response) => {
    if (losesAnswer) {
      response.resume()
      response.on('end', () => answer.destroy())
      return
    }
    answer.writeHead(response.statusCode ?? 502, response.headers)
    response.pipe(answer)
    if (download) cutAfter(response, download.afterBytes, () => answer.destroy())
  })
  if (body) outgoing.end(body)
  else if (upload) cutAfter(incoming, upload.afterBytes, () => [answer.destroy(), outgoing.destroy()])
  else incoming.pipe(outgoing)
}

const cutAfter = (incoming: IncomingMessage, bytes: number, cut: () => void): void => {
  let count = 0
  incoming.on('data', (chunk: Buffer) => {
    count += chunk.length
    if (count >= bytes) cut()
  })
}

const collect = async (incoming: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const methodIn = (body: string): string => /<soapenv:Body><(\w+)/.exec(body)?.[1] ?? 'nothing'
