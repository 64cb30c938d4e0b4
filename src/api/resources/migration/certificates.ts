import { z } from '@hono/zod-openapi'
import {
  listCertificates,
  readCertificate,
  type StoredCertificate,
} from '../../../../db/queries/copies/read-certificate.ts'
import { type CertificateDocument, certificateDocument } from '../../../certificate/document.ts'
import { certificateText } from '../../../certificate/file.ts'
import { nameSchema } from '../../../domain/job/kind.ts'
import type { ApiDeps } from '../../http/env.ts'
import { listRoute } from '../../http/read-routes.ts'
import { defineRoute, idParams, json } from '../../http/route.ts'
import { notFound } from '../../wire/problem.ts'
import { timestamp } from '../../wire/schemas.ts'
import { toWire } from '../../wire/wire.ts'

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

const list = listRoute({
  path: '/certificates',
  tag,
  summary: 'List certificates, the newest first; they stay when their batch is gone',
  query: { batch: nameSchema.optional(), instance_id: z.uuid().optional() },
  item: summarySchema,
  page: 'CertificatePage',
  says: 'A page',
  read: ({ db }, { batch, instance_id: instanceId }, at) => listCertificates(db, { batch, instanceId }, at),
  view: viewSummary,
})

/** `/certificates`. */
export const certificates = (deps: ApiDeps) =>
  list(deps).openapi(show, async (c) => {
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
