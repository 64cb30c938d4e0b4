import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

const maxBytes = 64 * 1024

/**
 * Files in a directory that another user may write to (Postgres' own, while we are root). That user can put anything
 * under a name: a link to a file that only root may read or write, or a pipe that is never answered. Only an ordinary
 * file under one name is taken; whatever else is there counts as not there.
 */
export const readForeign = (path: string): Promise<string | undefined> =>
  withForeign(path, constants.O_RDONLY, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0)
    return buffer.toString('utf8', 0, bytesRead)
  })

/** Changes such a file in place. False when there is none. */
export const overwriteForeign = async (path: string, text: string): Promise<boolean> => {
  const written = await withForeign(path, constants.O_WRONLY, async (file) => {
    await file.truncate(0)
    await file.write(text, 0)
    return true
  })
  return written ?? false
}

const withForeign = async <Result>(
  path: string,
  how: number,
  work: (file: FileHandle) => Promise<Result>,
): Promise<Result | undefined> => {
  // Not truncated by the opening: what it is has to be seen first. A pipe must not keep us waiting.
  const file = await open(path, how | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined)
  if (!file) return undefined
  try {
    const facts = await file.stat()
    return facts.isFile() && facts.nlink === 1 ? await work(file) : undefined
  } finally {
    await file.close()
  }
}
