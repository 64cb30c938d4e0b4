import type { Overview, WatchedSite } from '../../api/screens/overview.ts'
import {
  awayText,
  type ConnectivityState,
  connectivityMeanings,
  isAway,
  sealBrokenCode,
} from '../../domain/inventory/connectivity.ts'
import { asSentence, many } from '../../domain/text/sentence.ts'
import { visible } from './shown.ts'

export interface Warning {
  readonly id: string
  readonly text: string
  /** It is said before all else, also before who is off. */
  readonly alarm?: boolean
  /** Where to look, on this console. */
  readonly href?: string
  readonly linkText?: string
  /** What a button next to it would resume. */
  readonly pause?: Overview['pauses'][number]
}

export type WarningFacts = Pick<
  Overview,
  'notReady' | 'processes' | 'leaseMs' | 'counts' | 'pauses' | 'webhooks' | 'needy' | 'runningTwice'
> &
  Pick<Overview['inventory'], 'sites' | 'unread'> & { readonly debts: number }

/** What a person should look at, the worst first. Pure. */
export const warningsOf = (facts: WarningFacts): Warning[] => [
  ...(facts.runningTwice > 0
    ? [
        {
          id: 'running-twice',
          alarm: true,
          text: `${many(facts.runningTwice, 'VM runs', 'VMs run')} twice, or with the MAC address of another: see which, and stop the one that is not meant, at once.`,
          href: '/warnings?type=running-twice',
          linkText: 'See which',
        },
      ]
    : []),
  ...facts.notReady.map((text, at) => ({ id: `not-ready-${at}`, text })),
  ...fleetWarnings(facts),
  ...facts.sites.flatMap(siteWarnings),
  ...needyWarnings(facts.needy),
  ...(facts.unread > 0
    ? [
        {
          id: 'unread',
          text: `${facts.unread} ${facts.unread === 1 ? 'warning' : 'warnings'} about the inventory that nobody has read.`,
          href: '/warnings',
          linkText: 'Read them',
        },
      ]
    : []),
  ...facts.pauses.map(pauseWarning),
  ...(facts.debts > 0
    ? [
        {
          id: 'debts',
          text: `${facts.debts} ${facts.debts === 1 ? 'effect' : 'effects'} outside must still be undone.`,
          href: '/effects?state=debt',
          linkText: 'Look at the debts',
        },
      ]
    : []),
  ...facts.webhooks
    .filter((webhook) => webhook.state === 'active' && webhook.failures > 0)
    .map((webhook) => ({
      id: `webhook-${webhook.id}`,
      text: `The webhook ${webhook.name} has failed ${webhook.failures} times in a row: ${webhook.lastError ?? 'no reason given'}`,
    })),
]

/** What a stop has paused goes on by a start: the lane alone would go on behind the back of its batch. */
const pauseWarning = (pause: Overview['pauses'][number]): Warning => {
  const batch = pause.scope === 'lane' && pause.ofStopped ? pause.name.slice('batch/'.length) : null
  const runs = `${pause.running} of its jobs still ${pause.running === 1 ? 'runs' : 'run'}.`
  const id = `pause-${pause.scope}-${pause.name}`
  return batch === null
    ? {
        id,
        text: `The ${pause.scope} ${pause.name} is paused by ${pause.pausedBy}: ${asSentence(pause.reason)} ${runs}`,
        pause,
      }
    : {
        id,
        text: `The batch ${batch} was stopped by ${pause.pausedBy}. ${runs}`,
        href: `/batches/${encodeURIComponent(batch)}`,
        linkText: 'Look at it',
      }
}

const fleetWarnings = (facts: WarningFacts): Warning[] => {
  const heard = facts.processes.filter((process) => process.silentMs <= facts.leaseMs)
  const silent = facts.processes.length - heard.length
  const alive = (role: string) => heard.some((process) => process.role === role)
  const versions = [...new Set(heard.map((process) => process.version))].sort()
  const open = facts.counts
    .filter((count) => count.state === 'ready')
    .reduce((sum, { jobs }) => sum + jobs, 0)
  const look = { href: '/workers', linkText: 'Look at the fleet' }
  return [
    ...(alive('worker')
      ? []
      : [
          {
            id: 'no-worker',
            text: `No worker is alive: ${many(open, 'job is', 'jobs are')} ready and none will start.`,
            ...look,
          },
        ]),
    ...(silent > 0
      ? [
          {
            id: 'silent',
            text: `${silent} ${silent === 1 ? 'process has' : 'processes have'} gone silent.`,
            ...look,
          },
        ]
      : []),
    ...(versions.length > 1
      ? [{ id: 'versions', text: `The fleet runs several versions: ${versions.join(', ')}.`, ...look }]
      : []),
  ]
}

/** Entries that go on only when a person decides. */
const needyWarnings = (needy: Overview['needy']): Warning[] =>
  (['conflict', 'error'] as const)
    .filter((state) => needy[state] > 0)
    .map((state) => ({
      id: `needy-${state}`,
      text:
        state === 'conflict'
          ? `${many(needy.conflict, 'machine waits', 'machines wait')} for you to decide a conflict.`
          : `The migration of ${many(needy.error, 'machine')} ended in an error.`,
      href: `/queue?state=${state}`,
      linkText: state === 'conflict' ? 'Decide' : 'Look at the errors',
    }))

const meaningOf = (connectivity: string): string =>
  Object.hasOwn(connectivityMeanings, connectivity)
    ? connectivityMeanings[connectivity as ConnectivityState].sentence
    : ''

/** Where what the last try said tells a person more than what the state means. */
const saysMore = ({ connectivity, connectivityError }: WatchedSite): boolean =>
  connectivity === 'cannot-connect' || connectivityError?.code === sealBrokenCode

/** One sentence for a site: what keeps us from it goes before what that led to. */
const siteWarnings = (site: WatchedSite): Warning[] => {
  const { role, name, connectivity, syncError, down } = site
  const look = { href: `/${role}s/${name}`, linkText: `Look at ${name}` }
  if (isAway(connectivity)) {
    const said = awayText({
      role,
      name,
      connectivity,
      since: site.connectivitySince.getTime(),
      message: visible(
        (saysMore(site) ? site.connectivityError?.message : undefined) ?? meaningOf(connectivity),
      ),
    })
    const off = down && down.count > 0 ? ` ${visible(down.message)}` : ''
    return [{ id: `site-${role}-${name}`, text: `${said}${off}`, ...look }]
  }
  if (syncError === null) return []
  return [
    {
      id: `site-${role}-${name}`,
      text: `The ${role} ${name} could not be read: ${visible(syncError.message)}`,
      ...look,
    },
  ]
}
