import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { Terminal } from '../../src/print/terminal.ts'
import { readableLine } from '../../src/supervisor/role-log.ts'

const stream = (isTTY: boolean) => {
  const out = Object.assign(new PassThrough(), { isTTY, columns: 40 })
  const text: string[] = []
  out.on('data', (data: Buffer) => text.push(data.toString()))
  return { terminal: new Terminal(out as unknown as NodeJS.WriteStream), text }
}

test('a live line stays below what is printed, and is as wide as the terminal at most', () => {
  const { terminal, text } = stream(true)
  terminal.live('x'.repeat(100))
  terminal.line('a warning')
  terminal.live('')
  const clear = '\r\u001b[2K'
  expect(text).toEqual(['x'.repeat(39), `${clear}a warning\n${'x'.repeat(39)}`, clear])
})

test('a live block of several lines is taken back as a whole, and its end shows where there is no room', () => {
  const { terminal, text } = stream(true)
  terminal.live('one', 'two')
  terminal.line('a warning')
  terminal.live(...Array.from({ length: 100 }, (_, at) => `line ${at}`))
  const clear = '\r\u001b[2K\u001b[1A\u001b[2K'
  expect(text.slice(0, 2)).toEqual(['one\ntwo', `${clear}a warning\none\ntwo`])
  const shown = (text[2] ?? '').slice(clear.length).split('\n')
  expect(shown).toHaveLength(23)
  expect(shown.at(-1)).toBe('line 99')
})

test('without a terminal there are only plain lines', () => {
  const { terminal, text } = stream(false)
  terminal.live('10 %')
  terminal.line('done')
  expect(text).toEqual(['done\n'])
})

test('a person sees warnings with their cause, and nothing else of a log', () => {
  const line = (record: unknown) => readableLine(JSON.stringify(record))
  expect(line({ level: 'warn', msg: 'a round failed', err: { message: 'no route' } })).toBe(
    'warn  a round failed: no route',
  )
  expect(line({ level: 'fatal', msg: 'the end' })).toBe('fatal  the end')
  expect(line({ level: 'info', msg: 'a job ended' })).toBeUndefined()
  expect(readableLine('{broken')).toBeUndefined()
  expect(readableLine('    at main (file.ts:1)')).toBeUndefined()
})
