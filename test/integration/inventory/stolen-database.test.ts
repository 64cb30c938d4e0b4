import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { SiteRow } from '../../../db/schema/inventory.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { webhookSecretPlace } from '../../../src/seal/seal-places.ts'
import { atEnd } from '../../support/cleanup.ts'
import { testSealer } from '../../support/events.ts'
import { createInventoryWorker, makeSite, siteOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { jobOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'

/** What somebody with a login to the database, and without the key, tries. */

const { db } = await createDatabase()
const lab = await createLab()
const worker = createInventoryWorker(db, openLab)

/** Listens as the thief would, and keeps all that it is sent. */
const startThief = async () => {
  const heard: string[] = []
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`)
    request.on('data', (chunk) => heard.push(String(chunk)))
    request.on('end', () => response.writeHead(401).end('{}'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sites/vcenter`, heard }
}

let made = 0
const makeChecked = async () => {
  made += 1
  const name = `vc-${made}`
  await makeSite(db, { name, endpoint: lab.endpoint('vcenter'), password: lab.password })
  const check = async () => jobOf(db, await worker.run('check-connection', { role: 'source', name }))
  expect(await check()).toMatchObject({ result: { connectivity: 'ok' } })
  return { name, check }
}

const expectRefused = async (name: string) => {
  const site = await siteOf(db, name)
  expect(site).toMatchObject({
    connectivity: 'authentication-error',
    connectivityError: { code: 'site-seal-broken', remedy: expect.stringContaining('password') },
  })
}

// promise: stolen-database
test('a password is not sent to an address that was written into the database', async () => {
  const { name, check } = await makeChecked()
  const thief = await startThief()
  await db`update site set endpoint = ${thief.url} where name = ${name}`
  await check()
  expect(thief.heard).toEqual([])
  await expectRefused(name)
})

// promise: stolen-database
test.each([
  ['kind', 'vsphere'],
  ['ca', '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n'],
  ['fingerprint', 'ab'.repeat(32)],
  ['username', 'somebody-else'],
] as const satisfies readonly (readonly [keyof SiteRow, string])[])(
  'a password is not opened when its %s was written into the database',
  async (column, value) => {
    const { name } = await makeChecked()
    await db`update site set ${db({ [column]: value })} where name = ${name}`
    await worker.run('check-connection', { role: 'source', name })
    await expectRefused(name)
  },
)

// promise: stolen-database
test('the password of a source does not open in the row of another one', async () => {
  const [mine, theirs] = [await makeChecked(), await makeChecked()]
  await db`update site set secret = (select secret from site where name = ${theirs.name}) where name = ${mine.name}`
  await mine.check()
  await expectRefused(mine.name)
})

test('the secret of a webhook does not open as a password, whatever id its row was given', async () => {
  const { name, check } = await makeChecked()
  const { id } = await siteOf(db, name)
  const secret = testSealer.seal(JSON.stringify({ password: 'of-a-webhook' }), webhookSecretPlace(id))
  await db`update site set secret = ${secret} where name = ${name}`
  await check()
  await expectRefused(name)
})
