import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLog, withoutUserinfo } from '../../src/process/log.ts'

const record = (level = 'info') => {
  const lines: string[] = []
  const log = createLog({ role: 'worker', level, destination: { write: (line) => lines.push(line) } })
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? 'null') as Record<string, unknown> }
}

const secretKeys = [
  'password',
  'secret',
  'token',
  'authorization',
  'cookie',
  'apiKey',
  'privateKey',
  'credentials',
]

test.each(secretKeys)('the value of %s never reaches a line, at four depths', (key) => {
  const { log, lines } = record()
  const value = { [key]: 'hunter2' }
  log.info(value, 'one')
  log.info({ a: value }, 'two')
  log.info({ a: { b: value } }, 'three')
  log.info({ a: { b: { c: value } } }, 'four')
  expect(lines).toHaveLength(4)
  expect(lines.join('')).not.toContain('hunter2')
  expect(lines.every((line) => line.includes('[redacted]'))).toBe(true)
})

test('secrets in lists and in the bindings of a child are redacted too', () => {
  const { log, lines } = record()
  log.info({ tokens: [{ token: 'hunter2' }] }, 'list')
  log.child({ request: { authorization: 'Bearer hunter2' } }).info('child')
  expect(lines.join('')).not.toContain('hunter2')
})

test('an error loses the password in its message and its stack, and keeps the rest', () => {
  const { log, last } = record()
  log.error({ err: new Error('no answer from postgres://drover:hunter2@db.example/drover') }, 'failed')
  const text = JSON.stringify(last())
  expect(text).not.toContain('hunter2')
  expect(text).toContain('no answer from postgres://***@db.example/drover')
})

test('the cause of an error loses its password as well', () => {
  const { log, lines } = record()
  const cause = new Error('redis://:hunter2@cache.example')
  log.error({ err: new Error('outer', { cause }) }, 'failed')
  expect(lines.join('')).not.toContain('hunter2')
})

test('no password in a URL survives, whatever it is made of', () => {
  const password = fc.string({ minLength: 1 }).map((text) => `q${encodeURIComponent(text)}q`)
  fc.assert(
    fc.property(password, (secret) => {
      const shown = withoutUserinfo(
        `at postgres://drover:${secret}@host:5432/db and redis://:${secret}@cache/0`,
      )
      expect(shown).toBe('at postgres://***@host:5432/db and redis://***@cache/0')
    }),
  )
})

test('a text without a URL, or with one without a password, stays as it is', () => {
  for (const text of ['plain', 'see https://example.com/a?b=c', 'mail a@b.c', '// comment'])
    expect(withoutUserinfo(text)).toBe(text)
})

test('a line says its level by name, its role and its time', () => {
  const { log, last } = record()
  log.warn({ job: 'j-1' }, 'slow')
  expect(last()).toMatchObject({ level: 'warn', role: 'worker', msg: 'slow', job: 'j-1', pid: process.pid })
  expect(Date.parse(String(last().time))).not.toBeNaN()
})

test('what is below the level is not written', () => {
  const { log, lines } = record('error')
  log.info('quiet')
  log.error('loud')
  expect(lines).toHaveLength(1)
})

test('bytes in a record are told by their number, at any depth that is redacted', () => {
  const { log, lines } = record()
  const bytes = Buffer.from('hunter2')
  log.info(
    { cursor: bytes, site: { secret: bytes, cursor: bytes, deep: { at: [new Uint8Array(3)] } } },
    'row',
  )
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('"cursor":"[7 bytes]"')
  expect(lines[0]).toContain('[3 bytes]')
  expect(lines[0]).not.toContain('104,117')
})
