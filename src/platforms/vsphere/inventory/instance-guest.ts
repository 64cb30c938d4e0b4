import type { GuestFacts } from '../../../domain/inventory/facts.ts'
import type { XmlNode } from '../../../xml/xml-node.ts'

export interface GuestSystem {
  readonly os: string
  readonly os_description: string
  readonly architecture: string
}

const longestDetails = 8_192

/**
 * What the guest's agent wrote down about its system (`guestInfo.detailed.data`):
 * `architecture='X86' bitness='64' distroName='Debian GNU/Linux' prettyName='…'`.
 */
export const parseDetailedData = (text: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  // Whoever is root in a guest writes this text: it is bounded, and a word is tried from its beginning only.
  for (const [, key = '', value = ''] of text
    .slice(0, longestDetails)
    .matchAll(/(?<!\w)(\w+)='((?:[^'\\]|\\.)*)'/g))
    found.set(key, value.replaceAll(/\\(.)/g, '$1'))
  return found
}

/** `configured` is what the machine was made for (`config.guestId`), which tells the word size. */
export const readSystem = (detailed: string, configured: string): GuestSystem => {
  const said = parseDetailedData(detailed)
  return {
    os: said.get('distroName') ?? '',
    os_description: said.get('prettyName') ?? '',
    architecture:
      architectures[`${said.get('architecture') ?? ''}-${said.get('bitness') ?? ''}`.toLowerCase()] ??
      architectureOf(configured),
  }
}

const architectures: Readonly<Record<string, string>> = {
  'x86-64': 'x86_64',
  'x86-32': 'i686',
  'arm-64': 'aarch64',
  'arm-32': 'armv7l',
}

const architectureOf = (guestId: string): string => {
  if (/^(vmware)?arm/i.test(guestId)) return 'aarch64'
  return guestId.endsWith('64Guest') || /^windows\d+srv|^windows(9|11|12)/i.test(guestId) ? 'x86_64' : ''
}

export const readGuest = (properties: ReadonlyMap<string, XmlNode>): GuestFacts => {
  const text = (path: string) => properties.get(path)?.text ?? ''
  const version = text('guest.toolsVersion')
  return {
    agent: agentOf(
      text('guest.toolsRunningStatus'),
      // The second is what releases before 5.1 and some hosts still say instead.
      [text('guest.toolsVersionStatus2'), text('guest.toolsStatus')],
    ),
    agent_version: version === '0' ? '' : version,
    hostname: text('guest.hostName'),
  }
}

const agentOf = (running: string, statuses: readonly string[]): GuestFacts['agent'] => {
  if (running === 'guestToolsRunning' || running === 'guestToolsExecutingScripts') return 'running'
  if (statuses.includes('guestToolsNotInstalled') || statuses.includes('toolsNotInstalled'))
    return 'not-installed'
  return running === 'guestToolsNotRunning' ? 'not-running' : 'unknown'
}
