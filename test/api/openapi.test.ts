import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createApi } from '../../src/api/app.ts'
import { describeApi } from '../../src/api/http/openapi.ts'
import { problemCodes } from '../../src/api/wire/problem-codes.ts'
import { breakingChanges, type Described, describedNow, writeDocument } from '../support/openapi-file.ts'
import { createDatabase } from '../support/postgres.ts'
import { clientOf, depsOver } from './setup.ts'

const database = await createDatabase()
const deps = depsOver(database.db)
const call = clientOf(deps)

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly tags?: string[]
  readonly security?: unknown[]
  readonly requestBody?: { content: Record<string, { schema: { $ref?: string } }> }
  readonly parameters?: { name: string; in: string }[]
  readonly responses: Record<string, { content?: Record<string, unknown> }>
}

const document = describeApi(createApi(deps))
const operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({
    path,
    method,
    operation,
  })),
)

test('docs/openapi.json is the document as it is: npm run docs:openapi writes it', () => {
  const shipped = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
  expect(breakingChanges(JSON.parse(shipped) as Described, describedNow(deps))).toEqual([])
  expect(shipped).toBe(writeDocument(describedNow(deps)))
})

test('it is served as OpenAPI 3.1', async () => {
  const { status, body } = await call('GET', '/v1/openapi.json')
  expect([status, body.openapi]).toEqual([200, '3.1.0'])
  expect(Object.keys(body.paths as object)).toContain('/v1/jobs/{id}/:retry')
  expect(JSON.stringify(body)).not.toContain(':verb')
})

test.each(operations)('$method $path is described in full', ({ method, operation, path }) => {
  expect(operation.summary).toMatch(/^\p{Lu}.{3,}/u)
  expect(operation.tags).toHaveLength(1)
  expect(operation.security).toEqual([{ bearer: [] }, { session: [] }])
  for (const status of ['401', '403', '429', '503', 'default'])
    expect(operation.responses[status]?.content).toHaveProperty(['application/problem+json'])
  const parameters = (operation.parameters ?? []).map((parameter) => parameter.name)
  expect(parameters.includes('idempotency-key')).toBe(method === 'post')
  for (const [, name] of path.matchAll(/\{(\w+)\}/g)) expect(parameters).toContain(name)
})

test('operation ids are unique', () => {
  const ids = operations.map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
})

test('the page shows every operation and every error, and loads nothing from elsewhere', async () => {
  const { status, text } = await call('GET', '/docs')
  expect(status).toBe(200)
  for (const { operation } of operations) expect(text).toContain(`id="${operation.operationId}"`)
  for (const code of Object.keys(problemCodes)) expect(text).toContain(`id="error-${code}"`)
  expect(text).not.toMatch(/(src|href)="(https?:)?\/\//)
  expect(text).not.toMatch(/<script>|\sstyle="|\son\w+="/)
  expect((await call('GET', '/assets/docs.js')).headers.get('content-type')).toMatch(/^text\/javascript/)
})

test('the root leads to something useful', async () => {
  const { status, headers } = await call('GET', '/')
  expect([status, headers.get('location')]).toEqual([303, '/docs'])
})

test('docs/errors.md lists the codes of the API as they are', () => {
  const text = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  for (const [code, { status, title, remedy }] of Object.entries(problemCodes))
    expect(text).toContain(`| \`${code}\` | ${status} | ${title} | ${remedy} |`)
  const listed = [...text.matchAll(/^\| `([a-z-]+)` \| \d{3} \|/gm)].map((match) => match[1])
  expect(listed).toHaveLength(Object.keys(problemCodes).length)
})

test('metrics are served', async () => {
  const { status, text } = await call('GET', '/metrics')
  expect(status).toBe(200)
  expect(text).toContain('drover_api_requests_total{')
})
