import type { ServerResponse } from 'node:http'
import type { FaultRule } from '../model/fault-rule.ts'

type Hostile = Extract<FaultRule, { kind: 'answer' }>

const chunk = Buffer.alloc(64 * 1024, ' ')
const dripMs = 100

/** Writes until the other side has had enough: it is the client that has to bound what it takes. */
const endless = (response: ServerResponse, everyMs: number | undefined): void => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"items":[')
  let ended = false
  response.on('close', () => {
    ended = true
  })
  const more = (): void => {
    if (ended) return
    if (everyMs !== undefined) {
      response.write(' ')
      setTimeout(more, everyMs)
    } else if (response.write(chunk)) setImmediate(more)
    else response.once('drain', more)
  }
  more()
}

export const answerHostile = (response: ServerResponse, fault: Hostile): void => {
  switch (fault.shape) {
    case 'huge':
      endless(response, undefined)
      return
    case 'drip':
      endless(response, dripMs)
      return
    case 'html':
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<html><body>Please sign in.</body></html>')
      return
    case 'redirect':
      response.writeHead(302, { location: fault.location }).end()
      return
    case 'not-json':
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"items": [')
      return
    case 'cut':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"items":[', () => response.destroy())
      return
  }
}
