import type { PouredAs } from '../../print/terminal.ts'
import { ApiRefusal, type Ask, type Json } from './client.ts'
import {
  type Argument,
  type Call,
  type Command,
  exitCodes,
  flag,
  given,
  number,
  type Options,
  text,
  textOf,
} from './command.ts'
import { confirm } from './confirm.ts'
import type { Column, Output } from './output.ts'

/** Most commands are a row: what is asked of the API, and what is said about its answer. */
interface Row {
  readonly name: string
  readonly summary: string
  /** The operation behind it, `GET /v1/jobs/{id}/events`: arguments fill the braces from left to right. */
  readonly asks: string
  readonly args?: readonly Argument[]
}

interface ListRow extends Row {
  readonly columns: readonly Column[]
  /** Said of an empty list that nothing narrows down. */
  readonly empty: string
  /** Options that go into the query. */
  readonly filters?: Options
  readonly paged?: boolean
  /** Says what a table leaves out. */
  readonly note?: (call: Call, page: Json) => void
}

interface VerbRow extends Row {
  readonly options?: Options
  /** What is sent; nothing unless it is given. */
  readonly body?: (call: Call) => unknown
  /** What happens: asked of a person first. */
  readonly confirm?: string
  /** What `--json` shows where the API answers with nothing. */
  readonly answer?: (call: Call) => Json
  readonly said: (answer: Json, call: Call) => string
  /** Beside the answer: how to go on. */
  readonly note?: (answer: Json) => string
}

export const pageOptions: Options = {
  limit: number('how many, at most 200 (50)'),
  cursor: text('text', 'where the page before ended'),
  all: flag('every page, one after the other'),
}

/** Pages from the one that was asked for; with `--all` to the end. `items` are those of all of them. */
export const readPages = async (
  { client, values }: Call,
  path: string,
  query: Ask['query'],
): Promise<{ page: Json; items: Json[]; cursor: string | undefined }> => {
  let cursor = textOf(values, 'cursor')
  const items: Json[] = []
  for (;;) {
    const page = await client.get(path, { ...query, cursor })
    items.push(...itemsOf(page))
    cursor = typeof page.next_cursor === 'string' ? page.next_cursor : undefined
    if (values.all !== true || cursor === undefined) return { page, items, cursor }
  }
}

const commandOf = ({
  name,
  summary,
  asks,
  args,
}: Row): Pick<Command, 'name' | 'summary' | 'covers' | 'args'> => ({
  name,
  summary,
  covers: [asks],
  ...(args === undefined ? {} : { args }),
})

/** Whether an option was given: flags are false, and what may be repeated is an empty list, when they were not. */
const narrows = (value: unknown): boolean =>
  value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)

/** What is said of a list without rows. */
export const emptyText = (filter: Readonly<Record<string, unknown>>, empty: string): string =>
  Object.values(filter).some(narrows) ? 'Nothing fits.' : empty

/** A table. */
export const list = (row: ListRow): Command => {
  const paged = row.paged !== false
  return {
    ...commandOf(row),
    options: { ...row.filters, ...(paged ? pageOptions : {}) },
    run: async (call) => {
      const { output, values } = call
      const { limit } = pageOptions
      const filter = given(values, row.filters ?? {})
      const query = { ...filter, ...(paged && limit ? given(values, { limit }) : {}) } as Ask['query']
      const { page, items, cursor } = await readPages(call, addressOf(row, call).path, query)
      output.show({ ...page, items }, () => output.table(row.columns, items, emptyText(filter, row.empty)))
      row.note?.(call, page)
      if (cursor !== undefined) output.note(`There is more: --cursor ${cursor}, or --all.`)
    },
  }
}

const everyField = (output: Output, thing: Json): void => output.fields(Object.entries(thing))

/** One thing, a line for each field unless `print` says it better. */
export const show = (row: Row & { readonly print?: (output: Output, thing: Json) => void }): Command => ({
  ...commandOf(row),
  run: async (call) => {
    const thing = await call.client.get(addressOf(row, call).path)
    call.output.show(thing, () => (row.print ?? everyField)(call.output, thing))
  },
})

/** Does something, and says so in a sentence. A change goes by the version that was read, a removal takes any. */
export const verb = (row: VerbRow): Command => ({
  ...commandOf(row),
  ...(row.options === undefined ? {} : { options: row.options }),
  run: async (call) => {
    const { client, output } = call
    const { method, path } = addressOf(row, call)
    const body = row.body?.(call)
    if (row.confirm !== undefined) await confirm(call, row.confirm)
    const headers = method === 'DELETE' ? anyVersion : method === 'POST' ? {} : await versionOf(call, path)
    const reply = await client.ask(method, path, { headers, ...(body === undefined ? {} : { body }) })
    const answer = row.answer?.(call) ?? reply.body
    output.show(answer, () => output.line(row.said(answer, call)))
    if (row.note) output.note(row.note(answer))
  },
})

/** A file, to standard output as it comes. */
export const download = (row: Row & { readonly as: PouredAs }): Command => ({
  ...commandOf(row),
  run: (call) => pour(call, { path: addressOf(row, call).path, as: row.as }),
})

/** Writes an answer to standard output as it comes, at the pace of whoever reads it. */
export const pour = async (
  { client, output }: Call,
  { path, as, query = {} }: { readonly path: string; readonly as: PouredAs; readonly query?: Ask['query'] },
): Promise<undefined> => {
  const response = await client.fetch('GET', path, { query, endless: true })
  if (!response.ok || !response.body) throw await ApiRefusal.of(response, client.connection)
  await output.pour(response.body as unknown as AsyncIterable<Uint8Array>, as)
}

export const anyVersion = { 'if-match': '*' }

/** The header that makes a change go by the version that is there now. */
export const versionOf = async ({ client }: Call, path: string): Promise<Record<string, string>> =>
  matching((await client.ask('GET', path)).headers)

export const matching = (headers: Headers): Record<string, string> => ({
  'if-match': headers.get('etag') ?? '*',
})

const addressOf = ({ asks }: Row, { args }: Call): { method: string; path: string } => {
  const [method = '', template = ''] = asks.split(' ')
  let at = 0
  return { method, path: template.replaceAll(/\{\w+\}/g, () => encodeURIComponent(args[at++] ?? '')) }
}

export const itemsOf = (page: Json): Json[] => (Array.isArray(page.items) ? (page.items as Json[]) : [])

/** A thing's address: names and ids are data, whatever they hold. */
export const pathOf = (...parts: readonly (string | undefined)[]): string =>
  `/v1/${parts.map((part) => (part?.startsWith(':') ? part : encodeURIComponent(part ?? ''))).join('/')}`

/** 0 when it is so, else 1. */
export const codeOf = (good: boolean): number => (good ? exitCodes.ok : exitCodes.failed)
