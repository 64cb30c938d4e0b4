/** What the supervisor says to a person: lines, and on a real terminal one live line below them. */
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

  /** Replaces the live line; nothing on something that is not a terminal. An empty text removes it. */
  live(text: string): void {
    if (!this.isLive) return
    const clear = this.#clear()
    this.#live = text.slice(0, (this.#stream.columns || 80) - 1)
    this.#stream.write(`${clear}${this.#live}`)
  }

  #clear(): string {
    return this.#live === '' ? '' : '\r\u001b[2K'
  }
}
