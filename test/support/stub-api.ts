import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { runCli } from '../../src/cli/run.ts'
import { atEnd } from './cleanup.ts'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: Record<string, unknown>
}

/** An API that answers as a test says, and remembers what it was asked. */
export const startApi = async (answer: (asked: Asked, nth: number) => unknown, status = 200) => {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += String(chunk)))
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://api')
      const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>
      const one = { method: request.method ?? '', path: url.pathname, query: url.searchParams, body }
      asked.push(one)
      response.statusCode = status
      response.setHeader('content-type', 'application/json').setHeader('etag', '"7"')
      response.end(JSON.stringify(answer(one, asked.length)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => new Promise((resolve) => server.close(resolve)))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const runAs = async (typed: string | undefined, line: readonly string[]) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const env = { DROVER_URL: url, DROVER_TOKEN: 'x' }
    const stdin = Object.assign(Readable.from([typed ?? '']), { isTTY: typed !== undefined })
    const code = await runCli(line, { env, stdout, stderr, stdin, signal: new AbortController().signal })
    return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
  }
  return {
    asked,
    run: (...line: string[]) => runAs(undefined, line),
    /** With a person at the terminal, who types this. */
    typing: (typed: string, ...line: string[]) => runAs(typed, line),
  }
}
