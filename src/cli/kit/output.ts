import { printable } from '../../print/printable.mjs'
import { type PouredAs, Terminal } from '../../print/terminal.ts'
import type { Json } from './client.ts'
import type { Io } from './command.ts'

export interface Column {
  readonly title: string
  readonly value: (row: Json) => unknown
  /** Numbers stand under each other. */
  readonly right?: boolean
}

/** A column that shows one field, `progress.done` for a nested one. */
export const field = (path: string, title = path, options: { right?: boolean } = {}): Column => ({
  title,
  value: (row) => path.split('.').reduce<unknown>((at, key) => (at as Json | null | undefined)?.[key], row),
  ...options,
})

/** Columns that show a field each, under its name. */
export const fields = (...paths: readonly string[]): Column[] => paths.map((path) => field(path))

/** A moment, as long ago as it is. */
export const since = (path: string, title: string): Column => {
  const inner = field(path, title)
  return { title, value: (row) => relative(inner.value(row)) }
}

/** A column of numbers. */
export const numbers = (path: string, title = path): Column => field(path, title, { right: true })

/** A column of sizes. */
export const gibibytes = (path: string, digits: number, title = path): Column => {
  const { value } = numbers(path, title)
  const sizeOf = (bytes: unknown) =>
    typeof bytes === 'number' ? `${(bytes / 2 ** 30).toFixed(digits)} GiB` : '-'
  return { title, value: (row) => sizeOf(value(row)), right: true }
}

/** Lines for what is there alone. */
export const when = <Value>(
  value: Value | null | undefined | false,
  lines: (value: Value) => readonly Line[],
): readonly Line[] => (value === null || value === undefined || value === false ? [] : lines(value))

export type Line = readonly [name: string, value: unknown]

/** What each of the reasons says. */
export const messagesOf = (reasons: unknown): string =>
  ((reasons as Json[] | undefined) ?? []).map(({ message }) => message).join(' ')

/** What a command says. With `--json` that is JSON, one document or one a line, and nothing else. */
export class Output {
  readonly json: boolean
  readonly #answers: Terminal
  readonly #notes: Terminal

  constructor(io: Io, json: boolean) {
    this.#answers = new Terminal(io.stdout)
    this.#notes = new Terminal(io.stderr)
    this.json = json
  }

  get isLive(): boolean {
    return !this.json && this.#answers.isLive
  }

  /** An answer as it came, with `--json`; else what `print` makes of it. */
  show<Answer>(answer: Answer, print: (answer: Answer) => void): void {
    if (this.json) this.#answers.json(answer, 2)
    else print(answer)
  }

  /** One of many answers: with `--json` a line each, so that a program can read them as they come. */
  item<Answer>(answer: Answer, print: (answer: Answer) => string): void {
    if (this.json) this.#answers.json(answer)
    else this.#answers.line(print(answer))
  }

  /** A line for people; nothing with `--json`. */
  line(text = ''): void {
    if (!this.json) this.#answers.line(text)
  }

  /** JSON for people, in several lines; nothing with `--json`, where the answer itself is shown. */
  document(value: unknown): void {
    if (!this.json) this.#answers.json(value, 2)
  }

  /** For people, and not part of the answer: on the other stream, so that a pipe stays clean. */
  note(text: string): void {
    if (!this.json) this.#notes.line(text)
  }

  /** What nobody may miss, `--json` or not. */
  warn(text: string): void {
    this.#notes.line(text)
  }

  /** A question to the person at the keyboard. */
  prompt(text: string): void {
    this.#notes.prompt(text)
  }

  /** Replaces the line at the bottom of a real terminal. */
  live(text: string): void {
    if (this.isLive) this.#answers.live(text)
  }

  /** A download, as it comes. */
  async pour(chunks: AsyncIterable<Uint8Array>, as: PouredAs): Promise<void> {
    await this.#answers.pour(chunks, as)
  }

  table(columns: readonly Column[], rows: readonly Json[], empty: string): void {
    if (rows.length === 0) this.line(empty)
    else for (const line of tableLines(columns, rows)) this.line(line)
  }

  /** The fields of one thing, one a line. */
  fields(rows: readonly Line[]): void {
    const lines = rows.flatMap(spread)
    const width = Math.max(...lines.map(([name]) => name.length))
    for (const [name, value] of lines) this.line(`${name.padEnd(width)}  ${cellText(value)}`)
  }
}

/** A value that has parts has a line for each of them: nobody is shown JSON who did not ask for it. */
const spread = ([name, value]: Line): readonly Line[] => {
  if (value === null || typeof value !== 'object') return [[name, value]]
  if (Array.isArray(value) && value.every((item) => item === null || typeof item !== 'object'))
    return [[name, value.join(', ')]]
  const parts = Object.entries(value).map(
    ([key, part]): Line => [
      `${name} ${printable(Array.isArray(value) ? String(Number(key) + 1) : key)}`,
      part,
    ],
  )
  return parts.length === 0 ? [[name, '']] : parts.flatMap(spread)
}

/** Lines of a table. Cells are padded by what a terminal shows, the last column is not. */
export const tableLines = (columns: readonly Column[], rows: readonly Json[]): string[] =>
  alignedLines(
    [
      columns.map(({ title }) => title.toUpperCase()),
      ...rows.map((row) => columns.map(({ value }) => cellText(value(row)))),
    ],
    columns.map(({ right }) => right),
  )

/** Cells below each other, those of some columns to the right. */
export const alignedLines = (
  rows: readonly (readonly string[])[],
  toRight: readonly (boolean | undefined)[] = [],
): string[] => {
  const widthOf = (at: number) => Math.max(...rows.map((row) => row[at]?.length ?? 0))
  return rows.map((row) =>
    row
      .map((cell, at) => (toRight[at] ? cell.padStart(widthOf(at)) : cell.padEnd(widthOf(at))))
      .join('  ')
      .trimEnd(),
  )
}

/** As it will be printed, so that columns are padded by what is seen. */
export const cellText = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return '-'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return printable(text)
}

const relative = (value: unknown): string => {
  if (typeof value !== 'string') return '-'
  const ms = Date.now() - Date.parse(value)
  const text = spanText(Math.abs(ms))
  return ms >= 0 ? `${text} ago` : `in ${text}`
}

export const spanText = (ms: number): string => {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** `[##########··········]` */
export const bar = (done: number, total: number, width: number): string => {
  const filled = total === 0 ? 0 : Math.min(width, Math.floor((done / total) * width))
  return `[${'#'.repeat(filled)}${'·'.repeat(width - filled)}]`
}

/** `[##########··········]  40/100  12.3/s  ETA 5 s` */
export const progressBar = (
  done: number,
  total: number,
  elapsedMs: number,
  amountText: (amount: number) => string = String,
): string => {
  const rate = elapsedMs > 0 ? (done / elapsedMs) * 1_000 : 0
  const eta = rate > 0 && done < total ? `  ETA ${spanText(((total - done) / rate) * 1_000)}` : ''
  const pace = amountText === String ? rate.toFixed(1) : amountText(rate)
  return `${total === 0 ? bar(1, 1, 24) : bar(done, total, 24)}  ${amountText(done)}/${amountText(total)}  ${pace}/s${eta}`
}
