import { constants } from 'node:fs'
import { open, rename, stat } from 'node:fs/promises'
import { DroverError } from '../../errors.ts'
import { parseHead, type SignedHead } from '../../seal/seal-head.ts'

/** About 8,000 lines; older ones are in `<path>.1`. */
const fileBytes = 2 * 1024 * 1024
const tailBytes = 4_096

/** Appends a line; durable when it returns. Only the owner can read the file; a link in its place is refused. */
export const appendHead = async (path: string, line: string): Promise<void> => {
  try {
    const size = (await stat(path).catch(() => undefined))?.size ?? 0
    if (size > fileBytes) await rename(path, `${path}.1`)
    const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants
    const file = await open(path, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600)
    try {
      await file.appendFile(`${line}\n`)
      await file.datasync()
    } finally {
      await file.close()
    }
  } catch (cause) {
    throw refused(path, cause)
  }
}

/** The newest head in the file; undefined when there is none, or no file yet. */
export const lastHeadOf = async (path: string): Promise<SignedHead | undefined> => {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw refused(path, error)
  })
  if (!file) return undefined
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(tailBytes),
      0,
      tailBytes,
      Math.max(0, size - tailBytes),
    )
    const lines = buffer.toString('utf8', 0, bytesRead).trim().split('\n')
    return parseHead(lines.at(-1)?.trim() ?? '')
  } finally {
    await file.close()
  }
}

const refused = (path: string, cause: unknown): DroverError =>
  new DroverError(
    {
      code: 'heads-file-refused',
      class: 'config',
      message: `The heads of the event chain cannot be kept in ${path}: ${(cause as Error).message}.`,
      remedy: 'Set DROVER_SEAL_HEADS_FILE to a file that the conductor can write, in a folder that exists.',
      field: 'DROVER_SEAL_HEADS_FILE',
    },
    { cause },
  )
