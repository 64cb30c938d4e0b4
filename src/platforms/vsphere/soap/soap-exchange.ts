import { at, type XmlNode } from '../../../xml/xml-node.ts'
import {
  usualXmlLimits,
  type XmlItems,
  type XmlLimits,
  XmlRefusal,
  XmlStream,
} from '../../../xml/xml-stream.ts'
import type { HttpStream, PlatformHttp } from '../../http/platform-http.ts'
import type { Call } from '../../ports/call.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { faultError, soapFault } from './soap-fault.ts'
import { envelope, type SoapRequest } from './soap-request.ts'

export interface ExchangeFacts {
  /** `urn:vim25/8.0`: by which version of the API the server is to answer. */
  readonly action: string
  readonly caller: string
  /** `vmware_soap_session="…"`; empty before the login. */
  readonly cookie: string
  /** Never in a message. */
  readonly secrets: readonly string[]
  readonly onCookie?: (cookie: string) => void
  readonly limits?: XmlLimits
  /** How long the server may think. */
  readonly answerMs?: number
  readonly items?: Omit<XmlItems, 'each'>
  /** Told how many bytes came, as they come. */
  readonly heard?: (bytes: number) => void
}

/**
 * Sends one call and gives its answer: items in batches as they stream in, at the end the answer's element
 * without them (`LoginResponse`). Throws the fault as a PlatformError. Who stops early ends the exchange.
 */
export async function* soapStream(
  http: PlatformHttp,
  call: Call,
  request: SoapRequest,
  facts: ExchangeFacts,
): AsyncGenerator<readonly XmlNode[], XmlNode> {
  const limits = facts.limits ?? usualXmlLimits
  const answer = await http.stream(call, {
    method: 'POST',
    path: http.basePath === '' ? '/sdk' : http.basePath,
    headers: headersOf(facts),
    body: envelope(request),
    accept: xmlTypes,
    maxBytes: limits.totalBytes,
    ...(facts.answerMs === undefined ? {} : { answerMs: facts.answerMs }),
    ...(request.repeatable === undefined ? {} : { repeatable: request.repeatable }),
  })
  const place = { host: new URL(http.origin).host, method: request.method, secrets: facts.secrets }
  checkStatus(answer, place)
  noteCookie(answer, facts)
  let items: XmlNode[] = []
  const each = (item: XmlNode) => items.push(item)
  const stream = new XmlStream(limits, facts.items && { ...facts.items, each })
  try {
    for await (const chunk of answer.body) {
      facts.heard?.((chunk as Buffer).length)
      stream.write(chunk as Buffer)
      if (items.length === 0) continue
      const batch = items
      items = []
      yield batch
    }
    return bodyOf(stream.end(), answer.status, place)
  } catch (error) {
    throw error instanceof XmlRefusal ? notAnAnswer(place, error.message, error) : error
  } finally {
    answer.body.destroy()
  }
}

/** The same for calls whose answer is small. */
export const soapCall = async (
  http: PlatformHttp,
  call: Call,
  request: SoapRequest,
  facts: ExchangeFacts,
): Promise<XmlNode> => {
  const stream = soapStream(http, call, request, facts)
  for (;;) {
    const step = await stream.next()
    if (step.done) return step.value
  }
}

const xmlTypes = ['text/xml', 'application/xml', 'application/soap+xml']

interface Place {
  readonly host: string
  readonly method: string
  readonly secrets: readonly string[]
}

const headersOf = ({ action, caller, cookie }: ExchangeFacts): Record<string, string> => ({
  'Content-Type': 'text/xml; charset=utf-8',
  SOAPAction: action,
  'User-Agent': caller,
  ...(cookie === '' ? {} : { Cookie: cookie }),
})

/** Only these two statuses carry an envelope; anything else was said by something before vSphere. */
const checkStatus = (answer: HttpStream, place: Place): void => {
  const isXml = xmlTypes.includes(answer.contentType)
  if (answer.status === 200 || (answer.status === 500 && isXml)) return
  answer.body.destroy()
  if (answer.status === 502 || answer.status === 503 || answer.status === 504)
    throw new PlatformError({
      code: 'platform-unreachable',
      failure: 'unknown',
      message: `${place.host} answers that its service is not there (HTTP ${answer.status}).`,
      remedy: 'It may be starting: it is tried again. When it stays so, look at the services of vSphere.',
      detail: { host: place.host, method: place.method, status: answer.status },
    })
  throw notAnAnswer(place, `HTTP ${answer.status} is none that vSphere gives`)
}

const noteCookie = (answer: HttpStream, facts: ExchangeFacts): void => {
  for (const header of answer.headers['set-cookie'] ?? []) {
    const pair = header.split(';', 1)[0]?.trim() ?? ''
    if (pair.startsWith('vmware_soap_session=')) facts.onCookie?.(pair)
  }
}

const bodyOf = (document: XmlNode, status: number, place: Place): XmlNode => {
  const answer = document.name === 'Envelope' ? at(document, 'Body')?.children[0] : undefined
  if (answer?.name === 'Fault') throw faultError(soapFault(answer), place)
  if (answer && status === 200 && answer.name === `${place.method}Response`) return answer
  throw notAnAnswer(place, `it is no ${place.method}Response`)
}

const notAnAnswer = ({ host, method }: Place, why: string, cause?: unknown): PlatformError =>
  new PlatformError(
    {
      code: 'platform-answer-invalid',
      failure: 'unknown',
      message: `The answer of ${host} to ${method} cannot be used: ${why}.`,
      remedy: 'Check that the address is that of a vCenter or an ESXi host and of nothing else.',
      field: 'endpoint',
      detail: { host, method },
    },
    { cause },
  )
