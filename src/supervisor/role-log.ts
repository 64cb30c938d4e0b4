import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { printable } from '../print/printable.mjs'

const maxBytes = 8 * 1024 * 1024
const lastLinesMax = 12

/** A role's log file: bounded, with one older file beside it. */
export class RoleLog {
  readonly path: string
  #descriptor: number
  #bytes: number
  /** The last lines, for when the role dies without another word. */
  readonly lastLines: string[] = []

  constructor(path: string) {
    this.path = path
    this.#descriptor = openSync(path, 'a', 0o600)
    this.#bytes = fstatSync(this.#descriptor).size
  }

  /** A line of a role; what is no JSON (a stack of Node's own) is cleaned here, as people look at the file. */
  write(printed: string): void {
    if (this.#bytes > maxBytes) this.#turn()
    const line = printable(printed)
    const data = Buffer.from(`${line}\n`)
    writeSync(this.#descriptor, data)
    this.#bytes += data.length
    this.lastLines.push(line)
    if (this.lastLines.length > lastLinesMax) this.lastLines.shift()
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #turn(): void {
    closeSync(this.#descriptor)
    renameSync(this.path, `${this.path}.1`)
    this.#descriptor = openSync(this.path, 'a', 0o600)
    this.#bytes = 0
  }
}

const shown = new Set(['warn', 'error', 'fatal'])

/** A log line as one for a person, when it is a warning or worse; undefined when it stays in the file. */
export const readableLine = (line: string): string | undefined => {
  if (!line.startsWith('{')) return undefined
  try {
    const record = JSON.parse(line) as { level?: string; msg?: string; err?: { message?: string } }
    if (record.level === undefined || !shown.has(record.level)) return undefined
    const cause = record.err?.message === undefined ? '' : `: ${record.err.message}`
    return `${record.level}  ${record.msg ?? ''}${cause}`
  } catch {
    return undefined
  }
}
