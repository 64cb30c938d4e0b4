import { html } from 'hono/html'
import type { SiteDetail } from '../../../api/resources/inventory/site-view.ts'
import type { WarningView } from '../../../api/resources/inventory/warnings.ts'
import { nameKey } from '../../../api/wire/page.ts'
import { notFound } from '../../../api/wire/problem.ts'
import { meaningOfConnection } from '../../../domain/inventory/connectivity.ts'
import type { SiteRole } from '../../../domain/inventory/site-settings.ts'
import { downListHtml } from '../../kit/down-shown.ts'
import { mayAdminister, mayOperate, type Page, type PageContext } from '../../kit/page.ts'
import { connectionBadge, visible } from '../../kit/shown.ts'
import { ago, button, definition, type Html, jobLink, jsonBlock } from '../../kit/view.ts'
import { confirmForm } from './confirm-certificate.ts'
import { countLink, isAboutSites, productOf } from './site-list.ts'
import { warningList } from './warning-list.ts'

/** Asks for a site by the name in the address; a name that can be none is not there. */
export const readSite = async ({ ask, params }: PageContext, role: SiteRole): Promise<SiteDetail> => {
  const name = params.name ?? ''
  if (!nameKey.test(name)) throw notFound(role, name.slice(0, 60))
  return await ask<SiteDetail>(`GET /v1/${role}s/${name}`)
}

/** One source or target: whether it is connected and what to do, what was read, and how it is set. */
export const sitePage =
  (role: SiteRole) =>
  async (context: PageContext): Promise<Page> => {
    const site = await readSite(context, role)
    const warnings = await context.ask<{ items: WarningView[] }>(
      `GET /v1/warnings?entity=${role}/${site.name}`,
    )
    return {
      title: site.name,
      announce: meaningOfConnection(site.connectivity.state, site.connectivity.code).sentence,
      wakesOn: isAboutSites,
      parts: [
        { id: 'standing', html: connectionHtml(context, role, site) },
        { id: 'inventory', title: 'What it has', html: inventoryHtml(role, site) },
        { id: 'sync', title: 'Reading it', html: syncHtml(site, context.nowMs) },
        // There also when empty: a page that is open can change a part, not add one.
        {
          id: 'warnings',
          html:
            warnings.items.length === 0
              ? html``
              : html`<h2>Warnings</h2>${warningList(context, warnings.items)}`,
        },
        { id: 'facts', title: 'Settings', html: settingsHtml(context, role, site) },
      ],
    }
  }

const connectionHtml = (context: PageContext, role: SiteRole, site: SiteDetail): Html => {
  const { connectivity } = site
  const meaning = meaningOfConnection(connectivity.state, connectivity.code)
  const base = `/${role}s/${site.name}`
  const troubled = connectivity.state !== 'ok' && connectivity.state !== 'unknown'
  return html`<div class="card ${troubled ? 'is-failed' : 'is-succeeded'}">
<p class="state-line">${connectionBadge(connectivity.state)} ${meaning.sentence}</p>
${
  troubled
    ? html`<div class="problem">${connectivity.message === null ? '' : html`<p>${visible(connectivity.message)}</p>`}
<p><strong>What to do:</strong> ${visible(connectivity.remedy ?? meaning.remedy)}</p></div>`
    : ''
}
${troubled ? downListHtml(site.down, context.nowMs) : ''}
<p class="dim">So since ${ago(connectivity.since, context.nowMs)}; looked ${ago(connectivity.checked_at, context.nowMs)},
next ${ago(connectivity.next_check_at, context.nowMs)}.</p>
${connectivity.seen_certificate === null ? '' : confirmForm(context, base, site)}
${
  mayOperate(context)
    ? html`<div class="buttons">${button({ action: `${base}/check`, text: 'Check the connection' })}
${button({ action: `${base}/sync`, text: 'Read what changed' })}
${button({ action: `${base}/sync-all`, text: 'Read all of it anew' })}</div>`
    : ''
}</div>`
}

const inventoryHtml = (role: SiteRole, { name, counts }: SiteDetail): Html => {
  const of = `${role}=${name}`
  return definition([
    ...(role === 'source'
      ? ([
          ['Machines', countLink(counts.instances, 'machine', `/instances?${of}`)],
          [
            'Of these',
            html`<a href="/instances?${of}&amp;readiness=ready">${counts.ready} ready</a>,
<a href="/instances?${of}&amp;readiness=warning">${counts.warning} with warnings</a>,
<a href="/instances?${of}&amp;readiness=blocked">${counts.blocked} blocked</a>`,
          ],
          ['Migrated', countLink(counts.migrated, 'machine', `/instances?${of}&show=migrated`)],
          ['Left out', countLink(counts.ignored, 'machine', `/instances?${of}&show=ignored`)],
        ] as const)
      : []),
    ...(role === 'target' ? ([['Machines', html`<a href="/machines?${of}">see them</a>`]] as const) : []),
    ['Hosts', countLink(counts.hosts, 'host', `/hosts?${of}`)],
    ['Networks', countLink(counts.networks, 'network', `/networks?${of}`)],
    ['Storage', `${counts.storage}`],
    ...(role === 'target' ? ([['Projects', `${counts.projects}`]] as const) : []),
  ])
}

const syncHtml = (site: SiteDetail, nowMs: number): Html => {
  const { sync } = site
  return html`${
    sync.error === null
      ? ''
      : html`<div class="problem"><p><strong>The last try failed:</strong> ${visible(sync.error.message)}</p>
<p><strong>What to do:</strong> ${visible(sync.error.remedy)}</p></div>`
  }${definition([
    [
      'Now',
      sync.job_id === null
        ? 'not being read'
        : html`<span class="badge is-running">being read</span> by job ${jobLink(sync.job_id)}`,
    ],
    ['Last read', ago(sync.synced_at, nowMs)],
    ['Last read in full', ago(sync.full_synced_at, nowMs)],
    ['Next', sync.next_at === null ? 'only when asked' : ago(sync.next_at, nowMs)],
    ['Revision', site.revision],
  ])}${sync.result === null ? '' : jsonBlock('What the last reading saw and changed', sync.result)}`
}

const settingsHtml = (context: PageContext, role: SiteRole, site: SiteDetail): Html => html`${definition([
  ['Platform', productOf(site)],
  ['Address', html`<code>${visible(site.endpoint)}</code>`],
  ['User name', visible(site.username)],
  ['Password', site.has_password ? 'stored, sealed; never shown' : 'none'],
  ['Trust', trustText(site)],
  ...Object.entries(site.settings).map(([name, value]) => [settingName(name), settingText(value)] as const),
  ['Added', html`${ago(site.created_at, context.nowMs)} by ${visible(site.created_by)}`],
])}
${mayAdminister(context) ? html`<p><a class="action" href="/${role}s/${site.name}/edit">Change or remove it</a></p>` : ''}
<p class="dim">The same for programs: <a href="/v1/${role}s/${site.name}">/v1/${role}s/${site.name}</a></p>`

const trustText = (site: SiteDetail): Html => {
  if (site.fingerprint !== '') return html`this certificate alone: <code>${site.fingerprint}</code>`
  return html`${site.ca === '' ? "the system's certificate authorities" : 'the certificate authority that was given'}`
}

/** `sync_interval_seconds` → `Sync interval seconds`. */
export const settingName = (name: string): string =>
  name.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase())

const settingText = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'everywhere' : visible(value.join(', '))
  return visible(String(value))
}
