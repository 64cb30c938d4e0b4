import { printable, printableJson } from './printable.mjs'

/** A stream that a person or a program reads; on a real terminal with a size. */
export type PrintedTo = NodeJS.WritableStream & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** What is known of a text that somebody else wrote, and so how it is cleaned. */
export type PouredAs = 'json' | 'csv' | 'signed'

/**
 * The one place where Drover prints. Names, errors and messages come from platforms and guests: nothing in them moves
 * the cursor, colours, turns a line around, ends one or hides. Only what this file writes itself steers the terminal:
 * lines, and on a real terminal a live block below them.
 */
export class Terminal {
  readonly isLive: boolean
  readonly #stream: PrintedTo
  #live = ''

  constructor(stream: PrintedTo = process.stdout) {
    this.#stream = stream
    this.isLive = stream.isTTY === true
    // The terminal may go away before we do; that must not end the fleet.
    stream.on('error', () => {})
  }

  /** One line, whatever the text holds. */
  line(text = ''): void {
    this.#stream.write(`${this.#clear()}${printable(text)}\n${this.#live}`)
  }

  /** A text of our own that has several lines. */
  lines(text: string): void {
    for (const line of text.replace(/\n$/, '').split('\n')) this.line(line)
  }

  /** A question: the answer is typed behind it. */
  prompt(text: string): void {
    this.#stream.write(`${this.#clear()}${printable(text)}`)
  }

  /** JSON of the same value, in which no character steers a terminal. */
  json(value: unknown, indent?: number): void {
    this.#stream.write(`${this.#clear()}${printableJson(JSON.stringify(value, null, indent))}\n`)
  }

  /** Replaces the live block; nothing on something that is not a terminal. An empty line removes it. */
  live(...lines: readonly string[]): void {
    if (!this.isLive) return
    const clear = this.#clear()
    const { columns = 80, rows = 24 } = this.#stream
    // What has scrolled away cannot be taken back: of a block that is too tall, its end is shown.
    const shown = lines.slice(-Math.max(1, (rows || 24) - 1))
    this.#live = shown.map((line) => printable(line).slice(0, (columns || 80) - 1)).join('\n')
    this.#stream.write(`${clear}${this.#live}`)
  }

  /** A download as it comes, at the pace of whoever reads it. What is signed keeps its bytes off a terminal. */
  async pour(chunks: AsyncIterable<Uint8Array>, as: PouredAs): Promise<void> {
    if (as === 'signed' && !this.isLive) for await (const chunk of chunks) await this.#writeAll(chunk)
    else for await (const text of cleaned(chunks, as)) await this.#writeAll(text)
  }

  async #writeAll(chunk: Uint8Array | string): Promise<void> {
    if (!this.#stream.write(chunk)) await new Promise((resolve) => this.#stream.once('drain', resolve))
  }

  #clear(): string {
    if (this.#live === '') return ''
    const above = this.#live.split('\n').length - 1
    return `\r\u001b[2K${'\u001b[1A\u001b[2K'.repeat(above)}`
  }
}

async function* cleaned(chunks: AsyncIterable<Uint8Array>, as: PouredAs): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const text = rest + decoder.decode(chunk, { stream: true })
    // Lines of CSV are cleaned whole; JSON may be one line without an end.
    const end = as === 'csv' ? text.lastIndexOf('\n') + 1 : text.length
    rest = text.slice(end)
    if (end > 0) yield cleanPart(text.slice(0, end), as)
  }
  const last = rest + decoder.decode()
  if (last !== '') yield cleanPart(last, as)
}

const cleanPart = (text: string, as: PouredAs): string =>
  as === 'csv'
    ? text.replaceAll(/[^\n]+/g, (line) =>
        line.endsWith('\r') ? `${printable(line.slice(0, -1))}\r` : printable(line),
      )
    : printableJson(text)
