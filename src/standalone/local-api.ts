import { type ApiDoor, requestApi } from '../api-request.ts'
import { boundedSignal } from '../bounded-signal.ts'

/** An answer of our own API. */
export interface ApiAnswer<Body> {
  readonly body: Body
  readonly etag: string
}

export type Ask = <Body>(
  request: `${'GET' | 'POST' | 'PUT' | 'PATCH'} /${string}`,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<ApiAnswer<Body>>

/** What the API refused, or could not do, with the status it said so with. */
export class ApiRefused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'ApiRefused'
    this.status = status
  }
}

const answerMs = 15_000

/** Asks the API of this machine as everybody else would, with a token: over its socket, where nobody else listens. */
export const localApi =
  (options: { readonly door: ApiDoor; readonly token: string; readonly signal: AbortSignal }): Ask =>
  async <Body>(request: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) => {
    const [method = 'GET', path = '/'] = request.split(' ')
    const response = await requestApi(options.door, path, {
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${options.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: boundedSignal(options.signal, answerMs),
    })
    if (response.ok)
      return { body: (await response.json()) as Body, etag: response.headers.get('etag') ?? '' }
    const problem = (await response.json().catch(() => ({}))) as { detail?: string; title?: string }
    throw new ApiRefused(
      response.status,
      `${request} answered ${response.status}: ${problem.detail ?? problem.title ?? 'no reason given'}`,
    )
  }
