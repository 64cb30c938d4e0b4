import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { Client } from '../../../src/cli/kit/client.ts'
import { followEvents } from '../../../src/cli/kit/event-source.ts'
import { atEnd } from '../../support/cleanup.ts'

test('events are read in every kind of line end and in pieces, and a line that ends is taken up behind the last', async () => {
  const pieces = [
    [': open\r\n\r\nid: 1\r\ndata: {"n"', ':1}\r\n\r\nid: 2\ndata: {"n":\ndata: 2}\n\n'],
    ['id: 3\rdata: {"n":3}\r\r\n'],
  ]
  const resumed: (string | undefined)[] = []
  const server = createServer((request, response) => {
    resumed.push(request.headers['last-event-id'] as string | undefined)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces.shift() ?? []) response.write(piece)
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = new AbortController()
  const connection = { door: { origin }, where: origin, token: undefined, tokenFrom: undefined }
  const seen: unknown[] = []
  for await (const event of followEvents(new Client(() => connection, stop.signal), {}, stop.signal)) {
    seen.push(event.n)
    if (seen.length === 3) stop.abort()
  }
  expect(seen).toEqual([1, 2, 3])
  expect(resumed.slice(0, 2)).toEqual([undefined, '2'])
})
