import { expect, test } from 'vitest'
import { breakingChanges, type Described, writeDocument } from '../../support/openapi-file.ts'

const described = (): Described => ({
  paths: {
    '/v1/things': {
      get: {
        'x-role': 'viewer',
        parameters: [{ name: 'limit', in: 'query' }],
        responses: { 200: { schema: { $ref: '#/components/schemas/Page' } }, 401: {} },
      },
      post: {
        'x-role': 'operator',
        requestBody: { schema: { $ref: '#/components/schemas/NewThing' } },
        responses: { 201: { schema: { $ref: '#/components/schemas/Thing' } } },
      },
    },
  },
  components: {
    schemas: {
      Page: {
        type: 'object',
        properties: { items: { type: 'array', items: { $ref: '#/components/schemas/Thing' } } },
        required: ['items'],
      },
      Thing: {
        type: 'object',
        properties: { id: { type: 'string' }, state: { type: 'string', enum: ['on', 'off'] } },
        required: ['id', 'state'],
      },
      NewThing: {
        type: 'object',
        properties: { name: { type: 'string' }, kind: { type: 'string', enum: ['a', 'b'] } },
        required: ['name'],
      },
    },
  },
})

/** The same as JSON, with one place of its text changed. */
const changed = (from: string, to: string): Described => {
  const text = JSON.stringify(described())
  expect(text).toContain(from)
  return JSON.parse(text.replace(from, to)) as Described
}

test.each([
  ['"/v1/things":{"get"', '"/v1/others":{"get"', 'GET /v1/things is gone'],
  ['"name":"limit"', '"name":"most"', 'GET /v1/things no longer takes query limit'],
  ['"in":"query"}', '"in":"query","required":true}', 'GET /v1/things now needs query limit'],
  [',"401":{}', '', 'GET /v1/things no longer answers 401'],
  ['"x-role":"viewer"', '"x-role":"admin"', 'GET /v1/things now needs the role admin'],
  ['"Page":{"type"', '"Leaf":{"type"', 'the schema Page is gone'],
  ['"id":{"type":"string"}', '"key":{"type":"string"}', 'Thing.id is gone'],
  ['"id":{"type":"string"}', '"id":{"type":"integer"}', 'Thing.id is of another type'],
  ['"required":["id","state"]', '"required":["id"]', 'Thing.state may now be missing'],
  ['"required":["name"]', '"required":["name","kind"]', 'NewThing.kind is now required'],
  ['"enum":["a","b"]', '"enum":["a"]', 'NewThing.kind no longer takes "b"'],
])('to replace %s by %s in the document breaks programs', (from, to, why) => {
  expect(breakingChanges(described(), changed(from, to))).toContain(why)
})

test.each([
  ['"enum":["on","off"]', '"enum":["off"]'],
  ['"required":["name"]', '"required":[]'],
  ['"id":{"type":"string"}', '"id":{"type":"string"},"more":{"type":"string"}'],
  ['"401":{}', '"401":{},"402":{}'],
  ['"x-role":"operator"', '"x-role":"viewer"'],
])('to replace %s by %s in the document breaks nobody', (from, to) => {
  expect(breakingChanges(described(), changed(from, to))).toEqual([])
})

test('the written document is the same document', () => {
  expect(JSON.parse(writeDocument(described()))).toEqual(described())
})
