import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** One value of ASN.1 in DER: its tag, its length, what it holds. */
const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  if (body.length < 128) return Buffer.concat([Buffer.from([tag, body.length]), body])
  const size = Buffer.from(body.length.toString(16).padStart(body.length > 255 ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, body])
}
const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))

const nameOf = (commonName: string) =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))))

const time = (at: Date) => {
  const text = `${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`
  // Years up to 2049 have two digits in a certificate, later ones four.
  return at.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text))
}

/** For the address and the name under which a lab on this machine is reached, and as its own authority. */
const extensions = (): Buffer => {
  const names = sequence(
    der(0x82, Buffer.from('localhost')),
    der(0x87, Buffer.from([127, 0, 0, 1])),
    der(0x87, Buffer.from('00000000000000000000000000000001', 'hex')),
  )
  const isAuthority = sequence(der(0x01, Buffer.from([0xff])))
  return der(
    0xa3,
    sequence(
      sequence(oid('551d11'), der(0x04, names)),
      sequence(oid('551d13'), der(0x01, Buffer.from([0xff])), der(0x04, isAuthority)),
    ),
  )
}

const dayMs = 86_400_000

/**
 * A self-signed certificate (ECDSA, P-256) for loopback. Node makes keys and signatures but no certificates; the
 * few fields that one needs are written here, and Node's own parser checks them in a test.
 */
export const makeCertificate = (now: number): Certificate => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = nameOf('Drover lab')
  // A positive number: the first bit of a serial is its sign.
  const serial = Buffer.concat([Buffer.from([0x01]), randomBytes(15)])
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    ecdsaWithSha256,
    name,
    sequence(time(new Date(now - dayMs)), time(new Date(now + 3_650 * dayMs))),
    name,
    pair.publicKey.export({ type: 'spki', format: 'der' }),
    extensions(),
  )
  const signature = sign('sha256', body, pair.privateKey)
  const whole = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return {
    key: String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  }
}
