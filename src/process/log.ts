import { type Logger, pino } from 'pino'
import { printableJson } from '../print/printable.mjs'

export type { Logger } from 'pino'

/** Key names whose values never reach a log line, at any depth that our records have. */
const secretKeys = [
  'password',
  'secret',
  'token',
  'authorization',
  'cookie',
  'apiKey',
  'privateKey',
  'credentials',
]

export const redactedPaths: readonly string[] = secretKeys.flatMap((key) => [
  key,
  `*.${key}`,
  `*.*.${key}`,
  `*.*.*.${key}`,
])

/** Userinfo inside a URL: `postgres://drover:secret@host/db` becomes `postgres://***@host/db`. */
export const withoutUserinfo = (text: string): string => text.replace(/\/\/[^/\s@]+@/g, '//***@')

export interface LogOptions {
  readonly role: string
  readonly level: string
  /** Where lines go; standard error by default, so that standard output stays the program's own. */
  readonly destination?: { write(line: string): void }
}

/** People read logs in terminals, and JSON lets bidi controls, C1 and U+2028 pass as they are. */
const cleanTo = (destination: { write(line: string): unknown }) => ({
  write: (line: string): void => void destination.write(printableJson(line)),
})

/** One JSON line an event. `job`, `subject` and `trace` ids are child bindings, so every line carries them. */
export const createLog = (options: LogOptions): Logger =>
  pino(
    {
      level: options.level,
      base: { role: options.role, pid: process.pid },
      redact: { paths: [...redactedPaths], censor: '[redacted]' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (record) => withoutBytes(record, 0) as Record<string, unknown>,
      },
      serializers: { err: (error: Error) => redactError(pino.stdSerializers.err(error)) },
    },
    cleanTo(options.destination ?? pino.destination({ dest: 2, sync: true })),
  )

/** As deep as the redaction looks: it takes bytes for a record and fails on them, and they tell a reader nothing. */
const bytesDepth = 4

const withoutBytes = (value: unknown, depth: number): unknown => {
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  const isRecord = value !== null && typeof value === 'object' && !(value instanceof Error)
  if (!isRecord || depth > bytesDepth || value instanceof Date) return value
  if (Array.isArray(value)) return value.map((item) => withoutBytes(item, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutBytes(item, depth + 1)]))
}

const redactError = <T extends { message?: string; stack?: string }>(serialized: T): T => ({
  ...serialized,
  ...(serialized.message === undefined ? {} : { message: withoutUserinfo(serialized.message) }),
  ...(serialized.stack === undefined ? {} : { stack: withoutUserinfo(serialized.stack) }),
})
