import type { InstanceFacts } from './facts.ts'

export const osTypes = ['windows', 'linux', 'bsd', 'fortigate'] as const
export type OsType = (typeof osTypes)[number]

export const distributions = [
  'alma',
  'amazon',
  'arch',
  'centos',
  'debian',
  'fedora',
  'freebsd',
  'oracle',
  'rhel',
  'rocky',
  'suse',
  'ubuntu',
  'other',
] as const
export type Distribution = (typeof distributions)[number]

/** Versions that drivers are chosen by. Longer names first, so that `2012 R2` is not taken for `2012`. */
export const windowsVersions = [
  'Server 2003',
  'Server 2008 R2',
  'Server 2008',
  'Server 2012 R2',
  'Server 2012',
  'Server 2016',
  'Server 2019',
  'Server 2022',
  'Server 2025',
  '10',
  '11',
] as const

export interface OsFacts {
  readonly os_type: OsType
  readonly distribution: Distribution
  /** Empty when unknown or not applicable. */
  readonly distribution_version: string
}

/** The names of each distribution; the first match counts. */
const linuxNames: readonly (readonly [Distribution, RegExp])[] = [
  ['ubuntu', /\bubuntu\b/],
  ['debian', /\bdebian\b/],
  ['alma', /\balma ?linux\b/],
  ['rocky', /\brocky\b/],
  ['oracle', /\boracle\b/],
  ['centos', /\bcentos\b/],
  ['amazon', /\bamazon\b/],
  ['fedora', /\bfedora\b/],
  ['suse', /\b(open)?suse\b|\bsles\b|\bsled\b/],
  ['rhel', /\bred ?hat\b|\brhel\b/],
  ['arch', /\barch(linux| linux)\b|^arch$/],
]

const windowsVersion = (texts: readonly string[]): string => {
  for (const text of texts) {
    // Older platforms use "2016 or later" for three releases.
    const found = windowsVersions.find((version) =>
      new RegExp(`\\b${version.replace(' ', ' ?')}\\b(?! or later)`, 'i').test(text.replace(/\(r\)|®/gi, '')),
    )
    if (found !== undefined) return found
  }
  return ''
}

const linuxVersion = (distribution: Distribution, texts: readonly string[]): string => {
  if (distribution === 'other' || distribution === 'arch') return ''
  const pattern = distribution === 'ubuntu' ? /\b(\d{2}\.\d{2})\b/ : /(?<![\d.x/])(\d{1,4})(?![\dx/])/
  for (const text of texts) {
    if (/or later/.test(text)) continue
    // The word size in a template's name is not a version.
    const found = pattern.exec(text.replace(/\(?\d+-bit\)?/g, ''))
    if (found) return found[1] ?? ''
  }
  return ''
}

/** The operating system, as the guest reports it, or as the VM was configured. */
export const detectOs = (facts: Pick<InstanceFacts, 'os' | 'os_description' | 'os_template'>): OsFacts => {
  const fromGuest = [facts.os_description, facts.os].filter((text) => text.trim() !== '')
  const texts = [...fromGuest, facts.os_template].map((text) => text.toLowerCase())
  const first = (facts.os.trim() || facts.os_template.trim()).toLowerCase()
  const all = texts.join('\n')
  if (facts.os_description.trim().toLowerCase().startsWith('fortigate'))
    return { os_type: 'fortigate', distribution: 'other', distribution_version: '' }
  if (first.includes('windows') || (fromGuest[0] ?? '').toLowerCase().includes('windows'))
    return { os_type: 'windows', distribution: 'other', distribution_version: windowsVersion(texts) }
  if (first.includes('bsd') || (fromGuest[0] ?? '').toLowerCase().includes('bsd')) {
    const distribution = all.includes('freebsd') ? 'freebsd' : 'other'
    return { os_type: 'bsd', distribution, distribution_version: linuxVersion(distribution, texts) }
  }
  // The guest's own report comes first: the configured template may be outdated.
  for (const text of texts) {
    const found = linuxNames.find(([, pattern]) => pattern.test(text))
    if (!found) continue
    const same = texts.filter((other) => found[1].test(other))
    return { os_type: 'linux', distribution: found[0], distribution_version: linuxVersion(found[0], same) }
  }
  return { os_type: 'linux', distribution: 'other', distribution_version: '' }
}

/** An inconsistent field; null when everything fits. */
export interface OsProblem {
  readonly field: 'os_type' | 'distribution' | 'distribution_version'
  readonly message: string
}

const versionProblem = ({ os_type, distribution, distribution_version: version }: OsFacts): string | null => {
  if (version === '') return null
  if (os_type === 'windows')
    return (windowsVersions as readonly string[]).includes(version)
      ? null
      : `Windows is one of ${windowsVersions.join(', ')}, not "${version}".`
  if (os_type === 'fortigate') return null
  if (distribution === 'other') return 'An unknown distribution has no version.'
  if (distribution === 'ubuntu')
    return /^\d{2}\.\d{2}$/.test(version) ? null : `Ubuntu has versions such as 24.04, not "${version}".`
  return /^\d{1,4}$/.test(version) ? null : `${distribution} has whole versions such as 9, not "${version}".`
}

/** Checks a combination that a person sets. */
export const osProblem = (os: OsFacts): OsProblem | null => {
  const { os_type, distribution } = os
  if ((os_type === 'windows' || os_type === 'fortigate') && distribution !== 'other')
    return { field: 'distribution', message: `With ${os_type} the distribution is "other".` }
  if (os_type === 'linux' && distribution === 'freebsd')
    return { field: 'distribution', message: 'FreeBSD needs os_type "bsd".' }
  if (os_type === 'bsd' && distribution !== 'freebsd' && distribution !== 'other')
    return { field: 'distribution', message: 'With bsd the distribution is "freebsd" or "other".' }
  const message = versionProblem(os)
  return message === null ? null : { field: 'distribution_version', message }
}

/** Values that a person has set, as far as set. */
export type OsOverrides = { readonly [Field in keyof OsFacts]?: OsFacts[Field] | undefined }

/** The system after overrides: a new type or distribution drops what was detected for the old one. */
export const effectiveOs = (detected: OsFacts, overrides: OsOverrides): OsFacts => {
  const os_type = overrides.os_type ?? (overrides.distribution === 'freebsd' ? 'bsd' : detected.os_type)
  const distribution =
    overrides.distribution ?? (os_type === detected.os_type ? detected.distribution : 'other')
  const same = os_type === detected.os_type && distribution === detected.distribution
  return {
    os_type,
    distribution,
    distribution_version: overrides.distribution_version ?? (same ? detected.distribution_version : ''),
  }
}
