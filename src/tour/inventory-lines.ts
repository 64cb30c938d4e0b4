import { alignedLines } from '../cli/kit/output.ts'
import { many } from '../domain/text/sentence.ts'
import { droverCommand } from './drover-command.ts'
import type { SiteSeen } from './sites.ts'

export interface HostSeen {
  readonly name: string
  readonly state: string
  readonly cpus: number
  readonly memory: number
  readonly memory_used: number
}

export interface AssessmentSeen {
  readonly totals: {
    readonly instances: number
    readonly ready: number
    readonly warning: number
    readonly blocked: number
  }
  readonly rules: readonly {
    readonly severity: string
    readonly title: string
    readonly broken: number
  }[]
}

export interface InventorySeen {
  readonly sources: readonly SiteSeen[]
  readonly targets: readonly SiteSeen[]
  readonly assessment: AssessmentSeen
  readonly hosts: readonly HostSeen[]
  /** Where the console is. */
  readonly address: string
}

const reasonsShown = 4
const hostsShown = 5
const labelWidth = 12
const countWidth = 5

/** What there is, what keeps machines from leaving, and where to look next: for a person's first look. Pure. */
export const inventoryLines = (seen: InventorySeen): string[] => [
  'Inventory',
  ...alignedLines([
    ...seen.sources.map((site) => ['  source', site.name, productOf(site), sourceText(site.counts)]),
    ...seen.targets.map((site) => ['  target', site.name, productOf(site), targetText(site.counts)]),
  ]),
  '',
  ...machineLines(seen),
  ...hostLines(seen.hosts),
  ...nextLines(seen.address),
]

const sourceText = (counts: SiteSeen['counts']): string =>
  `${many(counts.instances ?? 0, 'machine')} on ${many(counts.hosts ?? 0, 'host')}, ${many(counts.networks ?? 0, 'network')}`

const targetText = (counts: SiteSeen['counts']): string =>
  `${many(counts.hosts ?? 0, 'host')}, ${many(counts.networks ?? 0, 'network')}, ${many(counts.storage ?? 0, 'storage pool')}`

const productOf = ({ identity }: SiteSeen): string =>
  [identity?.product, identity?.version].filter(Boolean).join(' ')

const machineLines = ({ assessment, sources }: InventorySeen): string[] => {
  const { instances, ready, warning, blocked } = assessment.totals
  if (instances === 0) return []
  const ignored = sources.reduce((sum, { counts }) => sum + (counts.ignored ?? 0), 0)
  const leftOut = ignored === 0 ? '' : `; ${ignored} left out: templates and the like`
  return [
    `${many(instances, 'machine')} to migrate: ${ready} ready, ${warning} with warnings, ${blocked} blocked${leftOut}`,
    ...reasonLines(assessment, 'critical', '  blocked by'),
    ...reasonLines(assessment, 'warning', '  warned of'),
    '',
  ]
}

const reasonLines = ({ rules }: AssessmentSeen, severity: string, label: string): string[] => {
  const broken = rules
    .filter((rule) => rule.severity === severity && rule.broken > 0)
    .sort((a, b) => b.broken - a.broken)
  const shown = broken.slice(0, reasonsShown)
  const more = broken.length - shown.length
  return [
    ...shown.map(({ broken: count, title }, at) =>
      [(at === 0 ? label : '').padEnd(labelWidth), String(count).padStart(countWidth), '×', title].join(' '),
    ),
    ...(more > 0
      ? [`${' '.repeat(labelWidth + countWidth + 3)}and ${more} other reason${more === 1 ? '' : 's'}`]
      : []),
  ]
}

const hostLines = (hosts: readonly HostSeen[]): string[] => {
  if (hosts.length === 0) return []
  const more = hosts.length - hostsShown
  return [
    'Hosts to migrate to',
    ...alignedLines(
      hosts
        .slice(0, hostsShown)
        .map((host) => [
          `  ${host.name}`,
          host.state,
          `${host.cpus} CPUs`,
          `${gib(host.memory - host.memory_used)} of ${gib(host.memory)} GiB memory free`,
        ]),
    ),
    ...(more > 0 ? [`  and ${many(more, 'other')}`] : []),
    '',
  ]
}

const nextLines = (address: string): string[] => {
  const drover = droverCommand()
  return [
    'Look next',
    ...alignedLines([
      [`  ${address}/instances`, 'every machine, and what it needs'],
      [`  ${address}/assessment`, 'every reason, with what to do'],
      [`  ${drover} instances list`, 'the same in a terminal'],
      [`  ${drover} assessment`, ''],
    ]),
  ]
}

const gib = (bytes: number): number => Math.round(bytes / 2 ** 30)
