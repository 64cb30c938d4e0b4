import type { Json } from './client.ts'
import { type Call, type Command, numberOf, type Option, textOf } from './command.ts'
import type { Column } from './output.ts'

export const pageOptions: Readonly<Record<string, Option>> = {
  limit: { type: 'string', value: 'n', summary: 'how many, at most 200 (50)' },
  cursor: { type: 'string', value: 'text', summary: 'where the page before ended' },
  all: { type: 'boolean', summary: 'every page, one after the other' },
}

interface ListOptions {
  readonly name: string
  readonly summary: string
  readonly path: string | ((call: Call) => string)
  readonly covers: string
  readonly columns: readonly Column[]
  readonly empty: string
  readonly args?: Command['args']
  /** Options that go into the query, by their name there. */
  readonly filters?: Readonly<Record<string, Option>>
  readonly paged?: boolean
  /** Says what a table leaves out. */
  readonly note?: (call: Call, page: Json) => void
}

/** A command that shows a list of the API as a table. Most lists are nothing else. */
export const listCommand = (options: ListOptions): Command => ({
  name: options.name,
  summary: options.summary,
  covers: [options.covers],
  ...(options.args === undefined ? {} : { args: options.args }),
  options: { ...options.filters, ...(options.paged === false ? {} : pageOptions) },
  run: async (call) => {
    const { client, output, values } = call
    const path = typeof options.path === 'string' ? options.path : options.path(call)
    const filters = Object.keys(options.filters ?? {}).map(
      (name) => [fieldName(name), textOf(values, name)] as const,
    )
    const query = { ...Object.fromEntries(filters), limit: numberOf(values, 'limit') }
    let cursor = textOf(values, 'cursor')
    const items: Json[] = []
    let page: Json
    do {
      page = await client.get(path, { ...query, cursor })
      items.push(...itemsOf(page))
      cursor = typeof page.next_cursor === 'string' ? page.next_cursor : undefined
    } while (values.all === true && cursor !== undefined)
    output.show({ ...page, items }, () => output.table(options.columns, items, options.empty))
    options.note?.(call, page)
    if (cursor !== undefined) output.note(`There is more: --cursor ${cursor}, or --all.`)
    return 0
  },
})

export const itemsOf = (page: Json): Json[] => (Array.isArray(page.items) ? (page.items as Json[]) : [])

/** An option as the API spells it: `--created-after` asks with `created_after`. */
const fieldName = (option: string): string => option.replaceAll('-', '_')

/** A thing's address: names and ids are data, whatever they hold. */
export const pathOf = (...parts: readonly (string | undefined)[]): string =>
  `/v1/${parts.map((part) => (part?.startsWith(':') ? part : encodeURIComponent(part ?? ''))).join('/')}`
