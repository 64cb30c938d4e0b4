import { describe, expect, test } from 'vitest'
import { openLab } from '../../src/platforms/lab/lab.ts'
import { LabLink } from '../../src/platforms/lab/lab-link.ts'
import { labTask } from '../../src/platforms/lab/lab-tasks.ts'
import { PlatformError } from '../../src/platforms/ports/platform-error.ts'
import { portOf } from '../../src/platforms/ports/ports.ts'
import { atEnd } from '../support/cleanup.ts'
import { everyAsk } from '../support/every-ask.ts'
import { type Answering, call, expectFailure, serve } from '../support/hostile-server.ts'
import { hostileValues, plainLine } from '../support/hostile-words.ts'

const json = { 'content-type': 'application/json' }
const options = { scopes: [], concurrency: 2, itemTimeoutMs: 2_000 }

/** A lab that lets everybody in and then answers as the test wants. */
const startLab = async (answering: Answering) => {
  const server = await serve((incoming, answer) => {
    incoming.resume()
    if (incoming.url?.endsWith('/session')) answer.writeHead(201, json).end('{"token":"abc"}')
    else answering(incoming, answer)
  })
  const account = {
    username: 'u',
    password: 'p',
    ca: '',
    fingerprint: '',
    caller: 'c',
    connectTimeoutMs: 10_000,
  }
  const connection = { ...account, kind: 'lab' as const, endpoint: server.url }
  const platform = openLab(connection)
  const link = new LabLink(connection)
  atEnd(() => Promise.all([platform.close(), link.close()]).then(() => undefined))
  return { platform, link, server }
}

const drain = async (stream: AsyncGenerator<readonly unknown[], unknown>): Promise<number> => {
  let count = 0
  for (let step = await stream.next(); !step.done; step = await stream.next()) count += step.value.length
  return count
}

describe('a listing', () => {
  test('whose pages are empty and never end is no listing', async () => {
    let page = 0
    const { platform, server } = await startLab((_incoming, answer) => {
      page += 1
      answer.writeHead(200, json).end(JSON.stringify({ items: [], next: `p-${page}`, cursor: null }))
    })
    const reading = drain(portOf(platform, 'inventory').scan(call(), options))
    await expectFailure(reading, 'platform-answer-invalid', 'unknown')
    expect(server.seen.requests).toBeLessThan(4_010)
  })

  test.each([
    ['a page of 32 MiB of nothing', `{"items":[${'0,'.repeat(15_000_000)}0],"next":null,"cursor":null}`],
    [
      'a page of a hundred thousand things',
      JSON.stringify({
        items: Array.from({ length: 100_000 }, (_, index) => ({
          type: 'gone',
          of: 'host',
          ref: `h-${index}`,
        })),
        next: null,
        cursor: null,
      }),
    ],
    ['a cursor of a megabyte', JSON.stringify({ items: [], next: null, cursor: 'c'.repeat(1_000_000) })],
    ['a next page of a megabyte', JSON.stringify({ items: [], next: 'c'.repeat(1_000_000), cursor: null })],
    [
      'an id of a megabyte',
      JSON.stringify({
        items: [{ type: 'gone', of: 'host', ref: 'h'.repeat(1_000_000) }],
        next: null,
        cursor: null,
      }),
    ],
  ])('with %s is refused', async (_what, body) => {
    const { platform } = await startLab((_incoming, answer) => void answer.writeHead(200, json).end(body))
    const reading = drain(portOf(platform, 'inventory').scan(call(), options))
    await expectFailure(reading, 'platform-answer-invalid', 'unknown')
  })

  test('with a machine that has an id of a megabyte is whole but for that machine', async () => {
    const { platform } = await startLab((_incoming, answer) => {
      const items = ['vm-1', 'v'.repeat(1_000_000)].map((ref) => ({
        type: 'instance',
        facts: { ref, power_state: 'off' },
      }))
      answer.writeHead(200, json).end(JSON.stringify({ items, next: null, cursor: null }))
    })
    const scan = portOf(platform, 'inventory').scan(call(), options)
    const { value } = await scan.next()
    expect(value).toMatchObject([{ type: 'instance' }, { type: 'problem', ref: '' }])
  })
})

test('a machine is not taken for the one that was asked for', async () => {
  const { platform } = await startLab((_incoming, answer) => {
    answer.writeHead(200, json).end(JSON.stringify({ facts: { ref: 'vm-2', power_state: 'off' } }))
  })
  const look = portOf(platform, 'inventory').instance(call(), 'vm-1')
  await expectFailure(look, 'platform-answer-invalid', 'unknown')
})

describe('a task', () => {
  const task = {
    name: 'n',
    kind: 'start',
    state: 'succeeded',
    percent: 100,
    result: 'vm-2',
    error: null,
    move: null,
  }

  test('of another id that has succeeded says nothing of ours', async () => {
    const { link } = await startLab((_incoming, answer) => {
      answer.writeHead(200, json).end(JSON.stringify({ ...task, id: 't-2', machine: 'vm-2' }))
    })
    const waiting = labTask(link, 't-1').wait(call({ timeoutMs: 30_000 }))
    await expectFailure(waiting, 'platform-answer-invalid', 'unknown')
  })

  test('of another machine is not found as one of ours', async () => {
    const { platform } = await startLab((_incoming, answer) => {
      answer.writeHead(200, json).end(JSON.stringify({ tasks: [{ ...task, id: 't-2', machine: 'vm-2' }] }))
    })
    expect(await portOf(platform, 'power').findTask(call(), { machine: 'vm-1' })).toEqual({ found: false })
  })

  test('with a result too long for an id is none', async () => {
    const { link } = await startLab((_incoming, answer) => {
      answer
        .writeHead(200, json)
        .end(JSON.stringify({ ...task, id: 't-1', machine: 'vm-1', result: 'x'.repeat(3_000) }))
    })
    await expectFailure(labTask(link, 't-1').status(call()), 'platform-answer-invalid', 'unknown')
  })
})

test('whatever it answers to whatever it is asked, the error is typed and said in one line', async () => {
  let said: unknown
  const { platform } = await startLab((incoming, answer) => {
    const status = incoming.method === 'DELETE' ? 500 : 200
    answer.writeHead(status, json).end(JSON.stringify(said) ?? '')
  })
  const asks = everyAsk(platform)
  for (const value of hostileValues) {
    said = value
    for (const [name, ask] of asks) {
      const error = await ask(call({ timeoutMs: 5_000, name })).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      if (error === undefined) continue
      expect(error, `${name}: ${(error as Error).stack}`).toBeInstanceOf(PlatformError)
      expect((error as PlatformError).message).toMatch(plainLine)
    }
  }
})
