import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

export interface SelfSigned {
  readonly name: string
  readonly key: string
  /** PEM; as it signed itself, it is its own CA too. */
  readonly cert: string
  /** SHA-256, lower-case hex. */
  readonly fingerprint: string
}

/**
 * A new certificate for a server of the test's own; with `days` below zero it has run out. `by`: the authority that
 * signs it, where it does not sign itself.
 */
export const selfSigned = (
  options: { host?: string; days?: number; name?: string; by?: SelfSigned } = {},
): SelfSigned => {
  const { host = '127.0.0.1', days = 30, name = 'drover test', by } = options
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const dayMs = 86_400_000
  const body = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    sequence(ecdsaWithSha256),
    commonName(by?.name ?? name),
    sequence(time(Date.now() - 2 * dayMs), time(Date.now() + days * dayMs)),
    commonName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...(by ? [] : [basicConstraints]), alternativeName(host))),
  )
  const signature = sign('sha256', body, by?.key ?? privateKey)
  const certificate = sequence(body, sequence(ecdsaWithSha256), bits(signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return {
    name,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    fingerprint: createHash('sha256').update(certificate).digest('hex'),
  }
}

const der = (tag: number, content: Buffer): Buffer => {
  const size = content.length
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
const sequence = (...parts: Buffer[]) => der(0x30, Buffer.concat(parts))
const set = (...parts: Buffer[]) => der(0x31, Buffer.concat(parts))
const integer = (value: Buffer) => der(0x02, value)
const bits = (value: Buffer) => der(0x03, Buffer.concat([Buffer.from([0]), value]))
const commonName = (name: string) => sequence(set(sequence(commonNameId, der(0x0c, Buffer.from(name)))))
const octets = (value: Buffer) => der(0x04, value)
const id = (hex: string) => der(0x06, Buffer.from(hex, 'hex'))
/** UTCTime: good until 2049. */
const time = (ms: number) => {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${text}Z`))
}

const ecdsaWithSha256 = id('2a8648ce3d040302')
const commonNameId = id('550403')
const basicConstraints = sequence(id('551d13'), octets(sequence(der(0x01, Buffer.from([0xff])))))
const alternativeName = (host: string) => {
  const name = isIPv4(host)
    ? der(0x87, Buffer.from(host.split('.').map(Number)))
    : der(0x82, Buffer.from(host))
  return sequence(id('551d11'), octets(sequence(name)))
}
