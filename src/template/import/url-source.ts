import { refusesAddress } from '../../address-rules.ts'
import type { ImageSource } from '../../domain/template/image.ts'
import { DroverError } from '../../errors.ts'
import { isRedirect } from '../../platforms/http/http-exchange.ts'
import { type HttpStream, openHttp, type PlatformHttp } from '../../platforms/http/platform-http.ts'
import { PlatformError, passingTrouble } from '../../platforms/ports/platform-error.ts'
import { type Opening, type OpenSource, sourceError } from './source.ts'

type UrlSource = Extract<ImageSource, { kind: 'url' }>

const redirectsMost = 5
const connectMs = 15_000
/** The time limit of reading one archive. */
const readMs = 7 * 24 * 3_600_000
const archiveBytesMost = 64 * 1024 ** 4
/** Broken connections in a row without a byte in between. */
const cutsMost = 5
const pauseMs = 1_000

/** The address after all redirects, with the answer of the first request there. */
interface Found {
  readonly http: PlatformHttp
  readonly path: string
  readonly answer: HttpStream
}

/**
 * Reads an archive in one request, from its start. After a broken connection the rest is requested by range, if the
 * server proves that the archive is still the same.
 */
export const openUrl = async (source: UrlSource, opening: Opening): Promise<OpenSource> => {
  const found = await find(source, opening)
  const { headers } = found.answer
  const size = /^\d+$/.test(headers['content-length'] ?? '') ? Number(headers['content-length']) : null
  const mark = validatorOf(headers)
  return {
    bytes: readOn(found, { opening, size, mark }),
    size,
    mark: mark === null ? null : `url/${mark}/${size ?? ''}`,
    close: () => {
      found.answer.body.destroy()
      found.http.close()
      return Promise.resolve()
    },
  }
}

/** The server's validator of the content: a strong ETag, else Last-Modified, else null. */
const validatorOf = (headers: HttpStream['headers']): string | null => {
  const { etag, 'last-modified': modified } = headers
  if (etag !== undefined && !etag.startsWith('W/')) return etag
  return modified ?? null
}

const find = async (source: UrlSource, opening: Opening): Promise<Found> => {
  const first = new URL(source.url)
  let url = first
  for (let hops = 0; hops <= redirectsMost; hops += 1) {
    const http = connect(url, url.origin === first.origin ? source : { ...source, fingerprint: '' }, opening)
    const path = `${url.pathname}${url.search}`
    const answer = await ask({ http, path }, opening).catch((error: unknown) => {
      http.close()
      throw error
    })
    if (answer.status === 200) return { http, path, answer }
    answer.body.destroy()
    http.close()
    if (!isRedirect(answer.status)) throw refusedStatus(url, answer.status)
    const next = answer.headers.location ?? ''
    if (!URL.canParse(next, url.href)) throw refused(`${url.host} leads to no address`)
    url = new URL(next, url)
    if (first.protocol === 'https:' && url.protocol !== 'https:')
      throw refused(`${first.host} leads to an address without TLS`)
  }
  throw refused(`${first.host} leads on more than ${redirectsMost} times`)
}

const connect = (url: URL, source: UrlSource, { means }: Opening): PlatformHttp =>
  openHttp({
    endpoint: url.origin,
    ca: source.ca ?? '',
    fingerprint: source.fingerprint ?? '',
    connectTimeoutMs: connectMs,
    refusesAddress: (address) => refusesAddress(address, { allowPrivate: means.allowPrivate }),
  })

const ask = async (
  { http, path }: Pick<Found, 'http' | 'path'>,
  { signal }: Opening,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpStream> => {
  const call = { signal, timeoutMs: readMs, name: '' }
  const request = { method: 'GET', path, headers, maxBytes: archiveBytesMost, seesRedirects: true } as const
  return http.stream(call, request).catch((error: unknown) => {
    throw toldOfSource(error, http)
  })
}

async function* readOn(
  found: Found,
  known: { readonly opening: Opening; readonly size: number | null; readonly mark: string | null },
): AsyncGenerator<Buffer, void> {
  const { opening, size, mark } = known
  const { signal, clock } = opening
  let body = found.answer.body
  let at = 0
  for (let cuts = 0; ; ) {
    try {
      for await (const piece of body as AsyncIterable<Buffer>) {
        at += piece.length
        cuts = 0
        yield piece
      }
      return
    } catch (error) {
      signal.throwIfAborted()
      cuts += 1
      const told = toldOfSource(error, found.http)
      if (mark === null || cuts > cutsMost || !passes(error)) throw told
    }
    await clock.sleep(pauseMs * cuts, signal)
    const resumed = await resume(found, opening, { at, mark, size }).catch((error: unknown) => {
      if (!passes(error)) throw error
      return undefined
    })
    if (resumed) body = resumed
  }
}

const resume = async (
  found: Found,
  opening: Opening,
  from: { readonly at: number; readonly mark: string; readonly size: number | null },
): Promise<HttpStream['body']> => {
  const { at, mark, size } = from
  const answer = await ask(found, opening, { Range: `bytes=${at}-`, 'If-Range': mark })
  const [, start, whole] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(answer.headers['content-range'] ?? '') ?? []
  const same = size === null || whole === '*' || Number(whole) === size
  if (answer.status === 206 && Number(start) === at && same && validatorOf(answer.headers) === mark)
    return answer.body
  answer.body.destroy()
  throw sourceError('image-source-changed', {
    class: 'transient',
    message: `${new URL(found.http.origin).host} does not go on with the archive as it was (HTTP ${answer.status}).`,
  })
}

/** Turns a failure of the network or of the server into an error of the image source. */
const toldOfSource = (error: unknown, http: PlatformHttp): unknown => {
  if (!(error instanceof PlatformError)) return error
  return sourceError(passes(error) ? 'image-source-unreachable' : 'image-source-refused', {
    class: error.class === 'permanent' ? 'config' : error.class,
    message: `The archive cannot be read from ${new URL(http.origin).host}: ${error.message}`,
    cause: error,
  })
}

const passes = (error: unknown): boolean => {
  const cause = error instanceof DroverError && error.cause instanceof PlatformError ? error.cause : error
  return cause instanceof PlatformError && passingTrouble(cause) !== undefined
}

const refusedStatus = (url: URL, status: number): DroverError =>
  status === 429 || status >= 500
    ? sourceError('image-source-unreachable', {
        class: 'environment',
        message: `${url.host} answers HTTP ${status} to the request for the archive.`,
      })
    : refused(`${url.host} answers HTTP ${status} to the request for the archive`)

const refused = (what: string): DroverError =>
  sourceError('image-source-refused', { class: 'config', message: `${what}.` })
