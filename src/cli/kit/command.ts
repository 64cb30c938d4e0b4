import type { PrintedTo } from '../../print/terminal.ts'
import type { Client } from './client.ts'
import type { Output } from './output.ts'
import type { Keyboard } from './password.ts'

/** What the command line runs in: handed in, so that a test is a caller like any other. */
export interface Io {
  readonly env: NodeJS.ProcessEnv
  readonly stdout: PrintedTo
  readonly stderr: PrintedTo
  /** For a password; nothing where nobody could give one. */
  readonly stdin?: Keyboard
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}

export interface Argument {
  readonly name: string
  readonly summary: string
  readonly optional?: boolean
  /** The last one only: any number of them. */
  readonly many?: boolean
}

export interface Option {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  readonly summary: string
  /** How its value is called in the help. */
  readonly value?: string
  /** What the shell offers, and the only values it takes. */
  readonly choices?: readonly string[]
  /** The command does nothing without it; the rest of the sentence that says so. */
  readonly required?: string
  /** How the API takes it, where not as text. */
  readonly as?: 'number' | 'json'
  /** How the API calls it, where not like the option. */
  readonly field?: string
}

export type Options = Readonly<Record<string, Option>>
type More = Pick<Option, 'short' | 'required' | 'field'>

export const flag = (summary: string, more: More = {}): Option => ({ type: 'boolean', summary, ...more })

export const text = (value: string, summary: string, more: More & Pick<Option, 'as'> = {}): Option => ({
  type: 'string',
  value,
  summary,
  ...more,
})

export const number = (summary: string, value = 'n', more: More = {}): Option =>
  text(value, summary, { ...more, as: 'number' })

export const choice = (
  value: string,
  choices: readonly string[],
  summary: string,
  more: More & Pick<Option, 'as'> = {},
): Option => ({
  ...text(value, summary, more),
  choices,
})

export const repeated = (value: string, summary: string, field: string): Option => ({
  ...text(value, summary, { field }),
  multiple: true,
})

export type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

export interface Call {
  readonly args: readonly string[]
  readonly values: Values
  readonly client: Client
  readonly output: Output
  readonly io: Io
}

/** One thing that `drover` can do, as data: the parser, the help, the completion and the tests read it. */
export interface Command {
  /** Its words, such as `jobs list`. */
  readonly name: string
  readonly summary: string
  /** The operations of the API behind it, as `GET /v1/jobs`; a test compares them with the OpenAPI document. */
  readonly covers: readonly string[]
  readonly args?: readonly Argument[]
  readonly options?: Options
  /** Gives the exit code; nothing means 0. */
  readonly run: (call: Call) => Promise<number | undefined>
}

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  /** Nothing is wrong with it, and nothing is proved. */
  unproved: 4,
  /** It is whole, and somebody else made it. */
  foreign: 5,
} as const

/** A mistake of the person at the keyboard: shown with how it is done right in lines of its own, exit code 2. */
export class UsageError extends Error {
  readonly more: readonly string[]

  constructor(message: string, ...more: readonly string[]) {
    super(message)
    this.more = more
  }
}

export const textOf = (values: Values, name: string): string | undefined => {
  const value = values[name]
  return typeof value === 'string' ? value : undefined
}

/** A whole number, or the usage error that names the option. */
export const numberOf = (values: Values, name: string): number | undefined => {
  const text = textOf(values, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value))
    throw new UsageError(`--${name} must be a number, not "${text}".`)
  return value
}

export const listOf = (values: Values, name: string): string[] => {
  const value = values[name]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

export const jsonOf = (values: Values, name: string): unknown => {
  const text = textOf(values, name)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`--${name} must be JSON: ${(error as Error).message}`)
  }
}

/** What was given for these options, by the names that the API has for them and as it takes them. */
export const given = (values: Values, options: Options): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options).map(([name, option]) => [
      option.field ?? name.replaceAll('-', '_'),
      givenFor(values, name, option),
    ]),
  )

const givenFor = (values: Values, name: string, { type, multiple, as }: Option): unknown => {
  if (type === 'boolean') return values[name] === true
  if (multiple) return listOf(values, name)
  if (as === 'number') return numberOf(values, name)
  return as === 'json' ? jsonOf(values, name) : textOf(values, name)
}
