import { X509Certificate } from 'node:crypto'
import { get, request } from 'node:https'
import { expect, test } from 'vitest'
import { startLab } from '../../../src/lab/lab.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createDatabase } from '../../support/postgres.ts'

interface Seen {
  readonly status: number
  readonly fingerprint: string
}

/** Asks for health, trusting that certificate and no other. */
const ask = (url: string, ca: string): Promise<Seen> =>
  new Promise((resolve, reject) => {
    get(`${url}/healthz`, { ca, agent: false }, (response) => {
      const { fingerprint256 } = (
        response.socket as unknown as { getPeerCertificate(): X509Certificate }
      ).getPeerCertificate()
      response
        .resume()
        .on('end', () => resolve({ status: response.statusCode ?? 0, fingerprint: fingerprint256 }))
    }).on('error', reject)
  })

const admin = (lab: { url: string; adminToken: string }, ca: string, act?: unknown): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = {
      ca,
      agent: false as const,
      method: act === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${lab.adminToken}` },
    }
    request(`${lab.url}${act === undefined ? '/lab/world' : '/lab/acts'}`, options, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += String(chunk)
      })
      response.on('end', () => resolve(text))
    })
      .on('error', reject)
      .end(act === undefined ? undefined : JSON.stringify(act))
  })

test('the certificate is valid for loopback, trusted by itself alone, kept over a restart, and changed when asked', async () => {
  const database = await createDatabase()
  const start = () =>
    startLab({ databaseUrl: database.url, tls: true, pace: 0, adminToken: 'admin token of the test' })
  let lab = await start()
  atEnd(() => lab.stop())
  const [stored] = await database.db<{ cert: string }[]>`select tls ->> 'cert' as cert from lab.world`
  const ca = stored?.cert ?? ''
  const certificate = new X509Certificate(ca)
  expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1')
  expect(certificate.checkHost('localhost')).toBe('localhost')
  expect(certificate.verify(certificate.publicKey)).toBe(true)
  const first = await ask(lab.url, ca)
  expect(first).toEqual({ status: 200, fingerprint: certificate.fingerprint256 })
  await lab.stop()
  lab = await start()
  expect(await ask(lab.url, ca)).toEqual(first)
  await admin(lab, ca, { act: 'certificate-change' })
  await expect(ask(lab.url, ca)).rejects.toThrow(/self.signed|unable to verify|signature/i)
  const [changed] = await database.db<{ cert: string }[]>`select tls ->> 'cert' as cert from lab.world`
  const second = await ask(lab.url, changed?.cert ?? '')
  expect(second.status).toBe(200)
  expect(second.fingerprint).not.toBe(first.fingerprint)
  const told = JSON.parse(await admin(lab, changed?.cert ?? '')) as { certificate: string }
  expect(told.certificate).toBe(changed?.cert)
  expect(JSON.stringify(told)).not.toContain('PRIVATE KEY')
})
