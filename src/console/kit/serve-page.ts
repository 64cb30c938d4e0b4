import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Actor, ApiDeps, ApiEnv } from '../../api/http/env.ts'
import type { Screens } from '../../api/screens/screens.ts'
import { printableHtml } from '../../print/printable.mjs'
import type { Ask } from './ask.ts'
import { consoleAssets } from './assets.ts'
import { refusalBox } from './form.ts'
import type { LivePages } from './live.ts'
import { noticeText } from './notices.ts'
import { layout, type Page, type PageContext, type RenderPage } from './page.ts'
import { type Refusal, refusalOf } from './refusal.ts'
import type { Html } from './view.ts'

export interface ConsoleParts {
  readonly deps: ApiDeps
  readonly live: LivePages
  readonly askAs: (actor: Actor) => Ask
  readonly screens: Screens
}

/** What a page may look at, as this request sees it. */
export const contextOf = (c: Context<ApiEnv>, { deps, askAs, screens }: ConsoleParts): PageContext => {
  const url = new URL(c.req.url)
  for (const name of ['notice', 'count']) url.searchParams.delete(name)
  const actor = c.get('actor')
  return {
    actor,
    ask: askAs(actor),
    screens,
    path: url.pathname,
    params: c.req.param() as Record<string, string>,
    query: url.searchParams,
    nowMs: deps.clock.now(),
  }
}

/** A page once, or, asked for as an event stream, its changes. */
export const servePage = async (
  c: Context<ApiEnv>,
  parts: ConsoleParts,
  render: RenderPage,
): Promise<Response> => {
  const context = contextOf(c, parts)
  c.header('Vary', 'Accept, Cookie')
  if ((c.req.header('accept') ?? '').includes('text/event-stream')) {
    const { clock } = parts.deps
    return parts.live.serve(c, `${context.actor.role} ${context.path}?${context.query}`, () =>
      render({ ...context, nowMs: clock.now() }),
    )
  }
  return await sendPage(c, await render(context), 200, refusalOf(c))
}

export const sendPage = async (
  c: Context<ApiEnv>,
  page: Page,
  status: ContentfulStatusCode,
  refusal?: Refusal,
): Promise<Response> => {
  const url = new URL(c.req.url)
  const said = (name: string) => url.searchParams.get(name)
  const notice = status === 200 && !refusal ? noticeText(said('notice'), said('count')) : undefined
  return c.html(
    printableHtml(
      String(
        await layout({
          ...{ page, path: url.pathname, actor: c.get('actor'), assets: consoleAssets },
          ...{
            notice,
            refusal: refusal && refusalHtml(refusal),
            lives: refusal && url.pathname + url.search,
          },
        }),
      ),
    ),
    refusal?.status ?? status,
  )
}

const refusalHtml = ({ state, did }: Refusal): Html =>
  refusalBox(state, did === 'ask' ? 'Nothing was changed.' : 'This cannot be shown.')
