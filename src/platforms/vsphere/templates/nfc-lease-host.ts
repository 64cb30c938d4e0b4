import { isThisMachine, refusesAddress } from '../../../address-rules.ts'
import { at } from '../../../xml/xml-node.ts'
import { normalFingerprint } from '../../http/certificate.ts'
import { isLoopbackName } from '../../http/platform-endpoint.ts'
import { openHttp, type PlatformHttp } from '../../http/platform-http.ts'
import type { Call } from '../../ports/call.ts'
import type { Connection } from '../../ports/connection.ts'
import { everyOf } from '../machines/machines-folder.ts'
import { refused, textAt } from '../soap/machines-reading.ts'
import type { ObjectRead } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import type { DeviceUrl } from './nfc-lease.ts'

export interface DevicePlace {
  readonly http: PlatformHttp
  readonly path: string
  readonly close: () => void
}

/**
 * The way to where a lease wants a disk: the server itself, or a host of its own inventory that shows the certificate
 * of which the lease has the digest. A vCenter that was taken over must not send us anywhere else, and what proves us
 * to the vCenter (session, password) goes to nobody but itself: the ticket is in the path.
 */
export const reachDevice = async (
  session: Session,
  call: Call,
  connection: Connection,
  device: DeviceUrl,
): Promise<DevicePlace> => {
  const own = new URL(session.http.origin)
  const url = parseDeviceUrl(device.url, own)
  const path = `${url.pathname}${url.search}`
  // By its own connection, which is as secure as the site's address says, whatever scheme is named.
  if (url.host === own.host) return { http: session.http, path, close: () => {} }
  if (url.protocol !== 'https:') throw strays(own, `${url.protocol}//${url.host}, without TLS`)
  const fingerprint = await pinOf(session, call, { own, url, thumbprint: device.thumbprint })
  const fromLoopback = isLoopbackName(own.hostname.replace(/^\[|\]$/g, ''))
  const http = openHttp({
    endpoint: url.origin,
    ca: '',
    fingerprint,
    connectTimeoutMs: connection.connectTimeoutMs,
    // A site on this machine has its hosts there, too.
    refusesAddress: (address) =>
      refusesAddress(address, { allowPrivate: true }) || (!fromLoopback && isThisMachine(address)),
  })
  return { http, path, close: () => http.close() }
}

/** `*` stands for the server that was asked. */
const parseDeviceUrl = (text: string, own: URL): URL => {
  const whole = text.replace(/^(https?:\/\/)\*/, (_all, scheme: string) => `${scheme}${own.host}`)
  const url = URL.canParse(whole) ? new URL(whole) : undefined
  if (!url || url.hostname === '')
    throw refused(`${own.host} gave no usable address for a disk.`, 'Try it again.')
  if (url.username !== '' || url.password !== '')
    throw strays(own, `${url.host} with a user name or a password in the address`)
  return url
}

/** What the lease says of the certificate, when it says it of a host that the inventory has and does not contradict. */
const pinOf = async (
  session: Session,
  call: Call,
  { own, url, thumbprint }: { readonly own: URL; readonly url: URL; readonly thumbprint: string },
): Promise<string> => {
  const pin = normalFingerprint(thumbprint)
  if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(pin))
    throw strays(own, `${url.host}, and does not say what certificate that has`)
  const paths = ['name', 'summary.config.name', 'summary.config.sslThumbprint', 'config.network.vnic']
  const hosts = await everyOf(session, call, { type: 'HostSystem', paths })
  const member = hosts.find((host) => namesOf(host).includes(plainHost(url.hostname)))
  if (!member) throw strays(own, `${url.host}, which is no host of its inventory`)
  const known = normalFingerprint(textAt(member, 'summary.config.sslThumbprint'))
  if (known.length === pin.length && known !== pin)
    throw strays(own, `${url.host} with another certificate than its inventory has of it`)
  return pin
}

/** By which a host may be named: as it was added, and its own addresses. */
const namesOf = (host: ObjectRead): readonly string[] => {
  const addresses = (host.properties.get('config.network.vnic')?.children ?? []).map(
    (nic) => at(nic, 'spec/ip/ipAddress')?.text ?? '',
  )
  return [textAt(host, 'name'), textAt(host, 'summary.config.name'), ...addresses]
    .filter((name) => name !== '')
    .map(plainHost)
}

/** As a URL writes it: `ESX1.example.org.` and `esx1.example.org` are the same, and so are spellings of an address. */
const plainHost = (name: string): string => {
  const bare = name.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const text = bare.includes(':') ? `https://[${bare}]` : `https://${bare}`
  return URL.canParse(text) ? new URL(text).hostname.replace(/\.$/, '') : bare.toLowerCase()
}

const strays = (own: URL, where: string) =>
  refused(
    `${own.host} wants a disk sent to ${where}.`,
    'Nothing was sent. Look at the hosts of this vCenter and at their certificates; when they are in order, ask who changes its answers.',
    { detail: { host: own.host } },
  )
