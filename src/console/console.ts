import { type Context, Hono } from 'hono'
import type { ApiDeps, ApiEnv } from '../api/env.ts'
import { requireRole } from '../api/route.ts'
import { assets, consoleAssets } from './assets.ts'
import { LivePages } from './live.ts'
import { noticeText } from './notices.ts'
import { layout, type PageContext, type RenderPage } from './page.ts'
import { effectsPage } from './pages/effects.ts'
import { eventsPage } from './pages/events.ts'
import { failedPage } from './pages/failed.ts'
import { jobPage } from './pages/job.ts'
import { jobsPage } from './pages/jobs.ts'
import { overviewPage } from './pages/overview.ts'
import { workersPage } from './pages/workers.ts'
import { verbs } from './verbs.ts'

const pages: Readonly<Record<string, RenderPage>> = {
  '/': overviewPage,
  '/jobs': jobsPage,
  '/jobs/:id': jobPage,
  '/failed': failedPage,
  '/effects': effectsPage,
  '/workers': workersPage,
  '/events': eventsPage,
}

/**
 * The pages for people, to be mounted at `/`. Made on the server from the same queries as the API, so there is
 * no second truth; complete without scripts. A page asked for as an event stream answers with its changes.
 */
export const createConsole = (deps: ApiDeps): Hono<ApiEnv> => {
  const app = new Hono<ApiEnv>()
  const live = new LivePages(deps)
  for (const asset of assets)
    app.get(
      asset.path,
      () =>
        new Response(asset.body, {
          headers: { 'Content-Type': asset.type, 'Cache-Control': 'public, max-age=86400' },
        }),
    )
  for (const [path, render] of Object.entries(pages))
    app.get(path, requireRole('viewer'), (c) => servePage(c, deps, live, render))
  app.route('/', verbs(deps))
  return app
}

const servePage = async (
  c: Context<ApiEnv>,
  deps: ApiDeps,
  live: LivePages,
  render: RenderPage,
): Promise<Response> => {
  const url = new URL(c.req.url)
  const notice = noticeText(url.searchParams.get('notice'))
  url.searchParams.delete('notice')
  const actor = c.get('actor')
  const context = (): PageContext => ({
    deps,
    actor,
    path: url.pathname,
    params: c.req.param() as Record<string, string>,
    query: url.searchParams,
    nowMs: deps.clock.now(),
  })
  c.header('Vary', 'Accept, Cookie')
  if ((c.req.header('accept') ?? '').includes('text/event-stream')) {
    const look = context()
    return live.serve(c, `${actor.role} ${url.pathname}?${url.searchParams}`, () =>
      render({ ...look, nowMs: deps.clock.now() }),
    )
  }
  const page = await render(context())
  return c.html(await layout({ page, path: url.pathname, actor, assets: consoleAssets, notice }))
}
