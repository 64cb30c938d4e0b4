import { expect, test } from 'vitest'
import { isThisMachine } from '../../src/address-rules.ts'
import { call, expectFailure, openTestHttp, serve, serveTls } from '../support/hostile-server.ts'
import { image, leaseHost, leaseThumbprint, startImport } from '../support/lease-scene.ts'
import { anyCall } from '../support/vsphere-machines.ts'

/** A server of an attacker, which notes all that it is told. */
const attacker = () =>
  serveTls(leaseHost, (incoming, answer) => void incoming.resume().on('end', () => answer.end()))

/** The import fails so, the lease is given up, and no template comes of it. */
const expectRefusal = async (scene: Awaited<ReturnType<typeof startImport>>, said: string) => {
  const importing = scene.templates.importImage(anyCall(), image, () => undefined)
  const error = await expectFailure(importing, 'platform-refused', 'refused')
  expect(error.message).toContain(said)
  expect(scene.fake.asked).toContain('HttpNfcLeaseAbort')
  expect(scene.fake.asked).not.toContain('MarkAsTemplate')
}

test('a lease that names a host outside of the inventory gets no connection, whatever certificate it pins', async () => {
  const evil = await attacker()
  let connections = 0
  evil.server.on('connection', () => {
    connections += 1
  })
  const scene = await startImport({
    deviceUrl: `${evil.url}/nfc/1/disk-0.vmdk`,
    thumbprint: leaseThumbprint,
    hostFacts: { name: 'esx-01.example.org' },
  })
  await expectRefusal(scene, 'no host of its inventory')
  expect(connections).toBe(0)
})

test('a lease without the digest of a certificate gets no connection, even where a public authority would vouch', async () => {
  const evil = await attacker()
  for (const thumbprint of ['', '00', 'x'.repeat(40)]) {
    const scene = await startImport({ deviceUrl: `${evil.url}/disk`, thumbprint })
    await expectRefusal(scene, 'does not say what certificate')
  }
  expect(evil.seen.requests).toBe(0)
})

test('a lease that contradicts what the inventory knows of the certificate gets no connection', async () => {
  const evil = await attacker()
  const scene = await startImport({
    deviceUrl: `${evil.url}/disk`,
    thumbprint: leaseThumbprint,
    hostFacts: { 'summary.config.sslThumbprint': `${leaseThumbprint.slice(0, -2)}00` },
  })
  await expectRefusal(scene, 'another certificate')
  expect(evil.seen.requests).toBe(0)
})

test('a lease that asks for http in place of https gets no connection', async () => {
  const evil = await serve((incoming, answer) => void incoming.resume().on('end', () => answer.end()))
  const scene = await startImport({ deviceUrl: `${evil.url}/disk`, thumbprint: leaseThumbprint })
  await expectRefusal(scene, 'without TLS')
  expect(evil.seen.requests).toBe(0)
})

test.each([
  'https://user:secret@127.0.0.1/disk',
  'ftp://127.0.0.1/disk',
  'file:///etc/passwd',
  'nonsense',
  'https://',
])('a lease with the address %s is refused', async (deviceUrl) => {
  const scene = await startImport({ deviceUrl, thumbprint: leaseThumbprint })
  await expectRefusal(scene, '127.0.0.1')
})

test.each(['169.254.169.254', '[fe80::1]', '[::ffff:169.254.169.254]', '0.0.0.0', '[fd00:ec2::254]'])(
  'a lease that names %s gets no connection, also when the inventory has a host of that name',
  async (name) => {
    const scene = await startImport({
      deviceUrl: `https://${name}/latest/meta-data`,
      thumbprint: leaseThumbprint,
      hostFacts: { name: name.replace(/^\[|\]$/g, '') },
    })
    await expectRefusal(scene, 'no platform may send us to')
  },
)

test('neither the session nor the password goes to the host of a lease', async () => {
  const esx = await attacker()
  const scene = await startImport({ deviceUrl: `${esx.url}/nfc/1/disk-0.vmdk`, thumbprint: leaseThumbprint })
  await scene.templates.importImage(anyCall(), image, () => undefined)
  expect(esx.seen.requests).toBe(1)
  expect(esx.seen.text).not.toMatch(/cookie|authorization|vmware_soap_session|vmware-api-session/i)
})

test('a host that sends an upload elsewhere is not followed', async () => {
  const evil = await attacker()
  const esx = await serveTls(leaseHost, (incoming, answer) => {
    incoming.resume().on('end', () => answer.writeHead(307, { location: `${evil.url}/take` }).end())
  })
  const scene = await startImport({ deviceUrl: `${esx.url}/disk`, thumbprint: leaseThumbprint })
  const importing = scene.templates.importImage(anyCall(), image, () => undefined)
  await expectFailure(importing, 'platform-redirects', 'refused')
  expect(evil.seen.requests).toBe(0)
})

test('an address that is refused is never connected to, by whatever name', async () => {
  const here = await attacker()
  let connections = 0
  here.server.on('connection', () => {
    connections += 1
  })
  for (const name of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]']) {
    const http = openTestHttp(`https://${name}:${here.port}`, { refusesAddress: isThisMachine })
    await expectFailure(http.request(call(), { method: 'GET', path: '/' }), 'platform-refused', 'refused')
  }
  expect(connections).toBe(0)
})
