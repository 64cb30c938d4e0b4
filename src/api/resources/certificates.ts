import { z } from '@hono/zod-openapi'
import {
  listCertificates,
  readCertificate,
  type StoredCertificate,
} from '../../../db/queries/read-certificate.ts'
import { type CertificateDocument, certificateDocument } from '../../certificate/document.ts'
import { certificateText } from '../../certificate/file.ts'
import { nameSchema } from '../../domain/job/kind.ts'
import type { ApiDeps } from '../env.ts'
import { pageOf, pageQuery, readCursor, toPage, uuidKey } from '../page.ts'
import { notFound } from '../problem.ts'
import { defineRoute, idParams, json, newResource } from '../route.ts'
import { toWire } from '../wire.ts'
import { timestamp } from './schemas.ts'

const tag = 'Certificates'

const summarySchema = z
  .object({
    id: z.uuid(),
    batch: z.string(),
    entry_id: z.uuid(),
    instance_id: z.uuid(),
    name: z.string(),
    key_id: z.string(),
    created_at: timestamp,
  })
  .openapi('CertificateSummary')

export type CertificateSummary = z.infer<typeof summarySchema>

const list = defineRoute({
  method: 'get',
  path: '/certificates',
  role: 'viewer',
  tag,
  summary: 'List certificates, the newest first; they stay when their batch is gone',
  request: {
    query: pageQuery.extend({ batch: nameSchema.optional(), instance_id: z.uuid().optional() }),
  },
  responses: { 200: json(pageOf(summarySchema, 'CertificatePage'), 'A page') },
})

const show = defineRoute({
  method: 'get',
  path: '/certificates/{id}',
  role: 'viewer',
  tag,
  summary: 'Download a certificate: one line of JSON that `drover verify` checks without asking anybody',
  request: { params: idParams },
  responses: {
    200: json(
      z
        .object({ certificate: certificateDocument, public_key: z.string(), signature: z.string() })
        .openapi('CertificateFile'),
      'The file, byte for byte as it was signed',
    ),
  },
})

const viewSummary = (row: StoredCertificate) =>
  toWire(summarySchema, row, { batch: row.batchName, name: row.instanceName })

/** `/certificates`. */
export const certificates = (deps: ApiDeps) =>
  newResource()
    .openapi(list, async (c) => {
      const { limit, cursor, batch, instance_id: instanceId } = c.req.valid('query')
      const before = readCursor('certificates', uuidKey, cursor)
      const rows = await listCertificates(deps.db, { batch, instanceId }, { before, limit: limit + 1 })
      const page = toPage(rows, { list: 'certificates', limit, key: (row) => row.id, item: viewSummary })
      return c.json(page, 200)
    })
    .openapi(show, async (c) => {
      const { id } = c.req.valid('param')
      const row = await readCertificate(deps.db, id)
      if (!row) throw notFound('certificate', id)
      const { signature, publicKey } = row
      const document = row.document as unknown as CertificateDocument
      // The text itself, not its JSON anew: a verifier compares every byte.
      return c.body(certificateText({ document, signature, publicKey }), 200, {
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Disposition': `attachment; filename="certificate-${id}.json"`,
      }) as never
    })
