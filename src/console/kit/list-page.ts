import type { FeedEvent } from '../../api/http/env.ts'
import { withQuery } from './ask.ts'
import { refusalBox, refusedForm } from './form.ts'
import type { Page, PageContext } from './page.ts'
import { pager } from './pager.ts'
import { type Html, joined } from './view.ts'

/** A page that shows a list of the API, page by page. */
export interface ListSpec<Item> {
  readonly title: string | ((context: PageContext) => string)
  /** Where the API has it. */
  readonly from: `/${string}` | ((context: PageContext) => `/${string}`)
  /** Questions of the address that are passed on. */
  readonly asks?: readonly string[]
  /** Questions that the page decides itself. */
  readonly sets?: (context: PageContext) => Readonly<Record<string, string | null | undefined>>
  /** The id of the part with the list. */
  readonly part: string
  readonly intro?: (context: PageContext) => Html
  readonly list: (items: readonly Item[], context: PageContext) => Html
  /** The words of the pager. */
  readonly words?: Parameters<typeof pager>[3]
  readonly wakesOn?: (event: FeedEvent, context: PageContext) => boolean
  readonly announce?: (items: readonly Item[], context: PageContext) => string
}

const inContext = <Value>(value: Value | ((context: PageContext) => Value), context: PageContext): Value =>
  value instanceof Function ? value(context) : value

export const listPage =
  <Item>(spec: ListSpec<Item>) =>
  async (context: PageContext): Promise<Page> => {
    const { ask, query, path } = context
    const { wakesOn } = spec
    const asked = Object.fromEntries([...(spec.asks ?? []), 'cursor'].map((name) => [name, query.get(name)]))
    const address = withQuery(inContext(spec.from, context), { ...asked, ...spec.sets?.(context) })
    const found = await ask<{ items: readonly Item[]; next_cursor: string | null }>(`GET ${address}`).catch(
      (error: unknown) => refusedForm(error, {}),
    )
    const items = 'items' in found ? found.items : []
    return {
      title: inContext(spec.title, context),
      ...(spec.intro ? { intro: spec.intro(context) } : {}),
      ...(wakesOn ? { wakesOn: (event: FeedEvent) => wakesOn(event, context) } : {}),
      ...(spec.announce ? { announce: spec.announce(items, context) } : {}),
      parts: [
        {
          id: spec.part,
          html:
            'items' in found
              ? joined(spec.list(items, context), pager(path, query, found.next_cursor, spec.words))
              : refusalBox(found, 'This cannot be shown.'),
        },
      ],
    }
  }
