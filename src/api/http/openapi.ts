import type { OpenAPIHono } from '@hono/zod-openapi'
import type { ApiEnv } from './env.ts'

export type OpenApiDocument = ReturnType<OpenAPIHono<ApiEnv>['getOpenAPI31Document']>

const info = {
  title: 'Drover',
  version: '1',
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  description: [
    'Moves fleets of virtual machines and never loses one.',
    'Every failure is a problem document (RFC 9457) with a stable `code` and a `remedy`.',
    'Every POST takes an `Idempotency-Key`: the same request again gets the stored answer, marked',
    '`Idempotency-Replayed: true`. Changes of a thing with an ETag need it in `If-Match`.',
    'Lists come in pages: give `next_cursor` back as `cursor`.',
    'A role may do what the roles before it may: viewer, operator, admin; see `x-role`.',
  ].join(' '),
}

const tags = [
  { name: 'Jobs', description: 'Units of work: create, look at, cancel, run again.' },
  { name: 'Pauses', description: 'Stop and drain a kind of job or a lane.' },
  { name: 'Effects', description: 'What was done outside the database, and what must still be undone.' },
  { name: 'Workers', description: 'The processes of the fleet.' },
  { name: 'Events', description: 'Audit and lifecycle: pages, a live stream, the hash chain.' },
  { name: 'Webhooks', description: 'Events sent to you: signed, at least once, replayed from a cursor.' },
  { name: 'Tokens', description: 'Who may do what.' },
  { name: 'Settings', description: 'What can be changed while the fleet runs.' },
  { name: 'Limits', description: 'Admission: how many may use one thing at once.' },
  { name: 'Sources', description: 'Where virtual machines are now.' },
  { name: 'Targets', description: 'Where virtual machines go.' },
  { name: 'Instances', description: 'The virtual machines of the sources.' },
  { name: 'Networks', description: 'Networks, and where their cards land.' },
  { name: 'Hosts', description: 'What runs machines.' },
  { name: 'Storage', description: 'Datastores and pools.' },
  { name: 'Projects', description: "Tenants' shares of targets." },
  {
    name: 'Rules',
    description: 'What keeps an instance from being migrated; waivers; how ready the fleet is.',
  },
  { name: 'Warnings', description: 'What somebody should know, until it is mended.' },
  { name: 'Batches', description: 'Instances that are migrated together: define, plan, start, stop, reset.' },
  {
    name: 'Queue',
    description: 'The journey of each instance of a started batch, and what people decide about it.',
  },
  { name: 'Certificates', description: 'The evidence of a migration, and the keys that sign it.' },
  { name: 'Machines', description: 'The virtual machines of the targets: what is operated.' },
  { name: 'Operations', description: 'What is asked of machines: each is done once, or not at all.' },
  { name: 'Images', description: 'The content of OVA files, for templates.' },
  {
    name: 'Templates',
    description: 'Names on targets that machines are cloned from, and what they point at.',
  },
  { name: 'Self-tests', description: 'Jobs that touch nothing, to see that the fleet works.' },
]

/** A verb as the router needs it and as people write it: `:verb{:retry}` and `:retry`. */
const verbPattern = /:verb\{(:[a-z-]+)\}/

/** The whole API as an OpenAPI 3.1 document. */
export const describeApi = (app: OpenAPIHono<ApiEnv>): OpenApiDocument => {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token from POST /v1/tokens.',
  })
  app.openAPIRegistry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: 'drover_session',
    description:
      'Set by the login form for browsers, as `__Host-drover_session` where people come by https. Unsafe methods must come from the same origin.',
  })
  const document = app.getOpenAPI31Document({ openapi: '3.1.0', info, tags, servers: [{ url: '/' }] })
  const paths = Object.entries(document.paths ?? {}).map(([path, item]) => [
    path.replace(verbPattern, '$1'),
    item,
  ])
  return withOperationIds({ ...document, paths: Object.fromEntries(paths) })
}

const methods = ['get', 'put', 'post', 'delete', 'patch'] as const

/** Stable names for generators of clients: `post /v1/jobs/{id}/:retry` is `jobsByIdRetryPost`. */
const withOperationIds = (document: OpenApiDocument): OpenApiDocument => {
  for (const [path, item] of Object.entries(document.paths ?? {}))
    for (const method of methods) {
      const operation = item[method]
      if (operation) operation.operationId = operationId(path, method)
    }
  return document
}

const operationId = (path: string, method: string): string =>
  [...path.split('/').filter((part) => part !== '' && part !== 'v1'), method]
    .map((part) => (part.startsWith('{') ? `by-${part.slice(1, -1)}` : part.replace(':', '')))
    .flatMap((part) => part.split('-'))
    .map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('')
