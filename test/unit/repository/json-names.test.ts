import { expect, test } from 'vitest'
import { z } from 'zod'
import { openDb } from '../../../db/client.ts'
import { createApi } from '../../../src/api/app.ts'
import { describeApi } from '../../../src/api/http/openapi.ts'
import { jobKinds } from '../../../src/domain/job/kinds/registry.ts'
import { entryStates } from '../../../src/domain/migration/entry/entry.ts'
import { depsOver } from '../../api/setup.ts'
import { codeFiles, readSource, withoutComments } from './sources.ts'

const snakeCase = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/
const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*$/

// A pool connects when it is asked something; describing the API asks nothing.
const db = openDb({ url: 'postgres://127.0.0.1:1/nowhere', max: 1, applicationName: 'test' })
const api = describeApi(createApi(depsOver(db)))
const payloads = jobKinds.map((kind) => z.toJSONSchema(kind.payload, { io: 'input' }))

type Node = Readonly<Record<string, unknown>>

/** Every object in a document, however deep. */
function* nodesOf(value: unknown): Generator<Node> {
  if (value === null || typeof value !== 'object') return
  if (!Array.isArray(value)) yield value as Node
  for (const inner of Object.values(value)) yield* nodesOf(inner)
}

const nodes = [...nodesOf(api), ...nodesOf(payloads)]

const keysOf = (value: unknown): string[] =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : []

/** Counts by state have the states for keys: they are values, and spelled as everywhere. */
const statesAsKeys: readonly string[] = entryStates

test('every field of a body, an answer and a payload is snake_case', () => {
  const names = nodes
    .flatMap((node) => keysOf(node.properties))
    .filter((name) => !statesAsKeys.includes(name))
  expect(names.length).toBeGreaterThan(200)
  expect(names.filter((name) => !snakeCase.test(name))).toEqual([])
})

test('every parameter of a query or a path is snake_case', () => {
  const names = nodes
    .filter((node) => node.in === 'query' || node.in === 'path')
    .map((node) => String(node.name))
  expect(names).toContain('created_before')
  expect(names.filter((name) => !snakeCase.test(name))).toEqual([])
})

test('examples name fields as they are named', () => {
  const names = nodes.flatMap((node) => [...nodesOf(node.example)].flatMap((example) => keysOf(example)))
  expect(names).toContain('step_ms')
  expect(names.filter((name) => !snakeCase.test(name))).toEqual([])
})

/** Words of others, spelled as everybody spells them. */
const foreignWords: readonly unknown[] = [
  'x86_64',
  // The phases and conditions of the compatible view of operations.
  ...['Pending', 'InProgress', 'Completed', 'Failed', 'SignalSent', 'True', 'False', 'Unknown'],
]

test('values that programs compare are kebab-case', () => {
  const values = nodes.flatMap((node) => (Array.isArray(node.enum) ? (node.enum as unknown[]) : []))
  const ours = values.filter((value) => typeof value === 'string' && !foreignWords.includes(value))
  expect(ours).toContain('fail-once')
  expect(ours.filter((value) => !kebabCase.test(String(value)))).toEqual([])
})

// What a job records has no schema in the API: its names are read from the sources.
const sources = codeFiles
  .filter((path) => /^(src|workers|db\/queries)\//.test(path))
  .map((path) => ({ path, text: withoutComments(readSource(path)) }))

/** `a: f(b, c), d` gives a and d. */
const fieldsOf = (text: string): string[] => {
  const plain = text.replace(/'[^'\n]*'|`[^`]*`/g, '').replace(/\([^()]*\)/g, '')
  return [...plain.matchAll(/(?:^|,)\s*(\w+)\s*(?=:|,|$)/g)].map(([, name = '']) => name)
}

const recorded = /(?:\b(?:detail|undo): |\b(?:done|checkpoint|progress)\()\{([^{}]*)\}/g

test('what a job, an effect, an event or an error records is snake_case', () => {
  const names = sources.flatMap(({ path, text }) =>
    [...text.matchAll(recorded)].flatMap(([, fields = '']) =>
      fieldsOf(fields).map((name) => [path, name] as const),
    ),
  )
  expect(names).toContainEqual(['src/errors.ts', 'job_id'])
  expect(names).toContainEqual(['workers/handlers/self-test.ts', 'visits'])
  expect(names.filter(([, name]) => !snakeCase.test(name))).toEqual([])
})

test('what SQL records is snake_case', () => {
  const names = sources.flatMap(({ path, text }) =>
    [...text.matchAll(/jsonb_build_object\(([^;`]*)/g)].flatMap(([, fields = '']) =>
      [...fields.matchAll(/'(\w+)', /g)].map(([, name = '']) => [path, name] as const),
    ),
  )
  expect(names).toContainEqual(['db/queries/jobs/wake-by-signal.ts', 'waited_for'])
  expect(names.filter(([, name]) => !snakeCase.test(name))).toEqual([])
})
