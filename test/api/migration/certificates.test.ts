import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { insertCertificate } from '../../../db/queries/copies/insert-certificate.ts'
import { insertSigningKey } from '../../../db/queries/seals/signing-keys.ts'
import { verifyCertificate } from '../../../src/certificate/file.ts'
import { keyIdOf, publicPem, signCertificate } from '../../../src/certificate/signing.ts'
import { sampleFile } from '../../support/certificates.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db))

test('a certificate is downloaded byte for byte as it was signed, and found by batch and instance', async () => {
  const { key, document } = sampleFile()
  const keyId = keyIdOf(key.publicKey)
  const { id } = document
  await db.begin(async (tx) => {
    const past = { privateKey: Buffer.from('sealed'), follows: null, vouched: null }
    await insertSigningKey(tx, { id: keyId, publicKey: key.publicKey, ...past })
    await insertCertificate(tx, {
      id,
      entryId: document.entry_id,
      instanceId: document.instance.id,
      batchName: document.batch,
      instanceName: document.instance.name,
      document,
      signature: signCertificate(document, key),
      keyId,
    })
  })
  const file = await call('GET', `/v1/certificates/${id}`)
  expect(file.status).toBe(200)
  expect(file.headers.get('content-disposition')).toContain(`certificate-${id}.json`)
  expect(verifyCertificate(file.text, publicPem(key.publicKey))).toMatchObject({ sound: true, pinned: true })

  const idsOf = async (query: string) =>
    (await call('GET', `/v1/certificates?${query}`)).body.items.map((item) => item.id)
  expect(await idsOf(`batch=${document.batch}&instance_id=${document.instance.id}`)).toEqual([id])
  expect(await idsOf('batch=another')).toEqual([])
  expect((await call('GET', `/v1/certificates/${uuidv7()}`)).status).toBe(404)
})
