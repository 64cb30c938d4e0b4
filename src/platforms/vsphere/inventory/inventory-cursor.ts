import { createHash } from 'node:crypto'
import { PlatformError } from '../../ports/platform-error.ts'

/** Where a delta goes on. It holds a session, so callers keep it sealed. */
export interface InventoryCursor {
  /** The installation that it is of. */
  readonly instance: string
  readonly cookie: string
  readonly collector: string
  readonly version: string
  readonly turn: string
  /** Views that machines are found in, and all else. */
  readonly machines: readonly string[]
  readonly around: readonly string[]
  readonly scopes: string
  /** Digests of what is not watched. */
  readonly attributes: string
  readonly tags: string
}

const format = 1
const longest = 8 * 1024

/** Nothing when it would be longer than a cursor may be: then there is no delta. */
export const packCursor = (cursor: InventoryCursor): string | null => {
  const text = JSON.stringify({ format, ...cursor })
  return Buffer.byteLength(text) > longest ? null : text
}

export const unpackCursor = (text: string): InventoryCursor => {
  try {
    const parsed = JSON.parse(text) as Record<string, unknown>
    const texts = ['instance', 'cookie', 'collector', 'version', 'turn', 'scopes', 'attributes', 'tags']
    if (
      parsed.format === format &&
      texts.every((name) => typeof parsed[name] === 'string') &&
      [parsed.machines, parsed.around].every(isTexts)
    )
      return parsed as unknown as InventoryCursor
  } catch {
    // What cannot be read is as good as lost.
  }
  throw cursorLost('the cursor is not one of this version')
}

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

export const cursorLost = (why: string, cause?: unknown): PlatformError =>
  new PlatformError(
    {
      code: 'platform-cursor-lost',
      failure: 'refused',
      message: `What changed cannot be told: ${why}.`,
      remedy: 'Nothing to do: everything is read once more.',
    },
    { cause },
  )

/** Equal for what is equal, and short. */
export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 16)
