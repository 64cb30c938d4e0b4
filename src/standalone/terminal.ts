/** What the supervisor says to a person: lines, and on a real terminal a live block below them. */
export class Terminal {
  readonly isLive: boolean
  readonly #stream: NodeJS.WriteStream
  #live = ''

  constructor(stream: NodeJS.WriteStream = process.stdout) {
    this.#stream = stream
    this.isLive = stream.isTTY === true
    // The terminal may go away before we do; that must not end the fleet.
    stream.on('error', () => {})
  }

  line(text = ''): void {
    this.#stream.write(`${this.#clear()}${text}\n${this.#live}`)
  }

  /** Replaces the live block; nothing on something that is not a terminal. An empty text removes it. */
  live(text: string): void {
    if (!this.isLive) return
    const clear = this.#clear()
    const { columns = 80, rows = 24 } = this.#stream
    // What has scrolled away cannot be taken back: of a block that is too tall, its end is shown.
    const lines = text.split('\n').slice(-Math.max(1, (rows || 24) - 1))
    this.#live = lines.map((line) => line.slice(0, (columns || 80) - 1)).join('\n')
    this.#stream.write(`${clear}${this.#live}`)
  }

  #clear(): string {
    if (this.#live === '') return ''
    const above = this.#live.split('\n').length - 1
    return `\r\u001b[2K${'\u001b[1A\u001b[2K'.repeat(above)}`
  }
}
