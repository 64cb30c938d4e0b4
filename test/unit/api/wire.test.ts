import { z } from '@hono/zod-openapi'
import { expect, test } from 'vitest'
import { factsToWire, toWire } from '../../../src/api/wire/wire.ts'

const schema = z.object({
  id: z.string(),
  created_at: z.iso.datetime(),
  seen_at: z.iso.datetime().nullable(),
  note: z.string().optional(),
})
const at = new Date('2026-01-02T03:04:05.006Z')
const row = { id: 'a', createdAt: at, seenAt: null }

test('a row becomes an answer with the names of the schema, and moments become text', () => {
  expect(toWire(schema, row)).toEqual({ id: 'a', created_at: at.toISOString(), seen_at: null })
  expect(toWire(schema, { ...row, note: 'x' }, { id: 'b' })).toEqual({
    id: 'b',
    created_at: at.toISOString(),
    seen_at: null,
    note: 'x',
  })
})

test('a column that the schema does not name stays where it is, also among what was worked out', () => {
  const secret = { ...row, password: 'x', secretSealed: 'y' }
  expect(JSON.stringify(toWire(schema, secret, { ...secret }))).not.toMatch(/password|secret/i)
})

test('a field that the row lacks, or has with another type, is found by the compiler', () => {
  const { createdAt: _, ...without } = row
  // @ts-expect-error created_at is missing
  expect(() => toWire(schema, without)).toThrow('createdAt')
  // @ts-expect-error created_at is misspelt
  expect(() => toWire(schema, { ...without, created: at })).toThrow('createdAt')
  // @ts-expect-error a moment is no number
  toWire(schema, { ...without, createdAt: 7 })
  // @ts-expect-error the schema has no such field
  toWire(schema, row, { nodes: 'x' })
  expect(toWire(schema, without, { created_at: 'now' }).created_at).toBe('now')
})

test('a row that lacks a promised column is refused, and facts that an older version recorded are not', () => {
  expect(toWire(schema, { id: 'a', created_at: at, seen_at: null }).created_at).toBe(at.toISOString())
  const facts = { id: 'a' } as unknown as typeof row
  expect(factsToWire(schema, { facts, row: {} })).toEqual({ id: 'a' })
  const lying = { id: 'a', createdAt: at } as unknown as typeof row
  expect(() => toWire(schema, lying)).toThrow('The row has no seenAt.')
})
