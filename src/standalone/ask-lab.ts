import { request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'

/** The lab's own door, where its world is asked about and changed. */
export interface LabDoor {
  /** `http://127.0.0.1:7071`. */
  readonly url: string
  readonly adminToken: string
  readonly signal: AbortSignal
}

/** Asks our own child on loopback, whose certificate nobody has signed: this one request does not look at it. */
export const askLab = (
  { url, adminToken, signal }: LabDoor,
  asked: `${'GET' | 'POST' | 'PATCH'} /${string}`,
  body?: unknown,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const [method = 'GET', path = '/'] = asked.split(' ')
    const request = url.startsWith('https:') ? tlsRequest : plainRequest
    const headers = {
      authorization: `Bearer ${adminToken}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const call = request(
      `${url}${path}`,
      { method, headers, rejectUnauthorized: false, signal },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (piece: string) => {
          text += piece
        })
        response.on('error', reject)
        response.on('end', () =>
          Math.floor((response.statusCode ?? 0) / 100) === 2
            ? resolve(text)
            : reject(new Error(`The lab answered ${response.statusCode} when it was asked to ${asked}.`)),
        )
      },
    )
    call.on('error', reject)
    call.end(body === undefined ? undefined : JSON.stringify(body))
  })
