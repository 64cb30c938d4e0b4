import { html } from 'hono/html'
import type { Actor, FeedEvent, Role } from '../../api/http/env.ts'
import { roles } from '../../api/http/env.ts'
import type { Screens } from '../../api/screens/screens.ts'
import type { Ask } from './ask.ts'
import type { Html } from './view.ts'

/** What a page may look at. Made anew for every look, so a page cannot remember. */
export interface PageContext {
  readonly actor: Actor
  /** The API, as this actor. */
  readonly ask: Ask
  readonly screens: Screens
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly nowMs: number
}

/** A part of a page that is sent again when it changes. */
export interface Part {
  readonly id: string
  readonly title?: string
  readonly html: Html
}

export interface Page {
  readonly title: string
  /** What never changes while the page is open: forms to filter, for example. */
  readonly intro?: Html
  readonly parts: readonly Part[]
  /** Said to screen readers when it changes. Keep it rare: at most a few sentences a minute. */
  readonly announce?: string
  /** Which events may change this page; all of them unless it says so. */
  readonly wakesOn?: (event: FeedEvent) => boolean
  /** How often it is made anew without an event; for a page that is costly to make. */
  readonly everyMs?: number
}

export type RenderPage = (context: PageContext) => Promise<Page>

const isAtLeast = ({ actor }: PageContext, least: Role): boolean =>
  roles.indexOf(actor.role) >= roles.indexOf(least)

export const mayOperate = (context: PageContext): boolean => isAtLeast(context, 'operator')
export const mayAdminister = (context: PageContext): boolean => isAtLeast(context, 'admin')

const places: readonly [path: string, name: string][] = [
  ['/', 'Overview'],
  ['/batches', 'Batches'],
  ['/queue', 'Queue'],
  ['/certificates', 'Certificates'],
  ['/sources', 'Sources'],
  ['/targets', 'Targets'],
  ['/hosts', 'Hosts'],
  ['/networks', 'Networks'],
  ['/instances', 'Instances'],
  ['/machines', 'Machines'],
  ['/operations', 'Operations'],
  ['/templates', 'Templates'],
  ['/images', 'Images'],
  ['/assessment', 'Assessment'],
  ['/warnings', 'Warnings'],
  ['/jobs', 'Jobs'],
  ['/failed', 'Failed'],
  ['/effects', 'Effects'],
  ['/workers', 'Workers'],
  ['/events', 'Events'],
]

const isPlace = (place: string, path: string): boolean =>
  place === '/' ? path === '/' : path === place || path.startsWith(`${place}/`)

/** A part as it stands in the page and as it is sent. */
export const partHtml = (part: Part): Html => html`<section id="${part.id}"${
  part.title === undefined ? '' : html` aria-labelledby="${part.id}-title"`
}>${part.title === undefined ? '' : html`<h2 id="${part.id}-title">${part.title}</h2>`}
${part.html}</section>`

/** A whole page. Nothing inline: the policy lets only our own files style and run. */
export const layout = (options: {
  readonly page: Page
  readonly path: string
  readonly actor: Actor
  readonly assets: { readonly css: string; readonly js: string }
  readonly notice?: string | undefined
  /** What was refused, on top of all. */
  readonly refusal?: Html | undefined
  /** Where its changes come from, when it stands at another address. */
  readonly lives?: string | undefined
}): Html => {
  const { page, path, actor, assets, notice, refusal, lives } = options
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title} · Drover</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${assets.css}">
<script type="module" src="${assets.js}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<a class="brand" href="/">Drover</a>
<nav aria-label="Main"><ul>
${places.map(
  ([place, name]) =>
    html`<li><a class="place" href="${place}"${isPlace(place, path) ? html` aria-current="page"` : ''}>${name}</a></li>`,
)}
<li class="apart"><a class="place" href="/queues">Bull Board</a></li>
<li><a class="place" href="/docs">API</a></li>
</ul></nav>
${who(actor)}
</header>
<main id="main" tabindex="-1">
<div class="title"><h1>${page.title}</h1>
<p id="connection" class="connection" role="status"></p></div>
${notice === undefined ? '' : html`<p class="notice" role="status">${notice}</p>`}
${refusal ?? ''}
${page.intro ?? ''}
<div id="parts" data-live="${lives ?? ''}">
${page.parts.map(partHtml)}
</div>
<p id="announce" class="sr" role="status">${page.announce ?? ''}</p>
</main>
</body>
</html>
`
}

const who = (
  actor: Actor,
): Html => html`<div class="who"><span>${actor.name} <span class="dim">(${actor.role})</span></span>
${
  actor.by === 'session'
    ? html`<form method="post" action="/logout"><button type="submit" class="plain">Sign out</button></form>`
    : ''
}</div>`
