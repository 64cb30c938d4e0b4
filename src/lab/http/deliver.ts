import type { ServerResponse } from 'node:http'
import { statusOf, type WireError } from '../../platforms/lab/protocol.ts'
import type { FaultRule } from '../model/fault-rule.ts'
import type { Answer } from './call.ts'
import { answerHostile } from './hostile-answer.ts'

/** How a call ends on the wire. */
export type Delivery =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'error'; readonly error: WireError }
  /** The connection ends without an answer. */
  | { readonly kind: 'cut' }
  | { readonly kind: 'hostile'; readonly fault: Extract<FaultRule, { kind: 'answer' }> }

export const deliver = (response: ServerResponse, delivery: Delivery): void => {
  if (response.destroyed || response.headersSent) return
  switch (delivery.kind) {
    case 'cut':
      response.destroy()
      return
    case 'hostile':
      answerHostile(response, delivery.fault)
      return
    case 'error':
      // What is left of a body is read and dropped, so that the caller gets to read why.
      response.req.resume()
      sendText(response, statusOf[delivery.error.code], JSON.stringify(delivery.error))
      return
    case 'answer':
      sendAnswer(response, delivery.answer)
      return
  }
}

const sendAnswer = (response: ServerResponse, answer: Answer): void => {
  if ('text' in answer) sendText(response, answer.status, answer.text)
  else if ('json' in answer) sendText(response, answer.status, JSON.stringify(answer.json))
  else if ('bytes' in answer)
    response
      .writeHead(answer.status, {
        'content-type': 'application/octet-stream',
        'content-length': answer.bytes.length,
      })
      .end(answer.bytes)
  else response.writeHead(answer.status).end()
}

const sendText = (response: ServerResponse, status: number, text: string): void => {
  const body = Buffer.from(text)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
}
