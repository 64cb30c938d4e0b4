import pg from 'pg'
import { expect, test } from 'vitest'
import { openDb } from '../../../db/client.ts'
import { securedUrl } from '../../../db/secured-url.ts'
import { atEnd } from '../../support/cleanup.ts'

test.each(['ssl=0', 'ssl=no-verify', 'sslcert=/c', 'sslkey=/k', 'uselibpqcompat=true', 'sslmode=disable'])(
  'a URL that asks for a checked certificate keeps nothing that turns the check off (%s)',
  (word) => {
    const { url, options } = securedUrl(`postgres://u:p@db:5433/d?sslmode=verify-full&${word}&options=x`)
    expect(url).toBe('postgres://u:p@db:5433/d?options=x')
    expect(options).toEqual({ ssl: { host: 'db', servername: 'db' } })
    expect(new pg.Client({ connectionString: url, ...options })).toMatchObject(options)
  },
)

test('a handshake that begins at once stays one, beside the check', () => {
  const { url, options } = securedUrl('postgres://u@db/d?sslmode=verify-full&sslnegotiation=direct')
  expect(url).toBe('postgres://u@db/d')
  expect(options).toEqual({ ssl: { host: 'db', servername: 'db' }, sslnegotiation: 'direct' })
})

test('several hosts come to the driver as they were written', () => {
  const url = 'postgres://u:p@a:5433,b:5434/d'
  expect(securedUrl(url)).toEqual({ url, options: {} })
  const db = openDb({ url, max: 1, applicationName: 'drover-test' })
  atEnd(() => db.end({ timeout: 1 }))
  expect(db.options).toMatchObject({ host: ['a', 'b'], port: [5433, 5434] })
})
