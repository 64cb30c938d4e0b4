import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { isAbsolute, relative } from 'node:path'
import { type Opening, type OpenSource, readBytes, sourceError } from './source.ts'

/**
 * Opens a file below the allowed folder of this worker. Links are resolved first: a link that leads out of the folder
 * is refused, and the resolved path is the path that is opened.
 */
export const openFile = async (path: string, { means, signal }: Opening): Promise<OpenSource> => {
  const place = await judged(path, means.dir)
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  // Without O_NONBLOCK, opening a pipe without a writer would block for ever.
  const file = await open(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause: unknown) => {
    throw refused(`${path} cannot be opened`, cause)
  })
  try {
    const facts = await file.stat()
    if (!facts.isFile()) throw refused(`${path} is no file`)
    const { size, mtimeMs, ino, dev } = facts
    const bytes = file.createReadStream({ highWaterMark: readBytes, signal, autoClose: false })
    // An abort before the first read must not end the process.
    bytes.on('error', () => {})
    return {
      bytes,
      size,
      mark: `file/${dev}/${ino}/${size}/${mtimeMs}`,
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

const judged = async (path: string, dir: string | undefined): Promise<string> => {
  if (dir === undefined) throw refused(`${path} is not read: this worker has no DROVER_IMAGE_DIR`)
  const [root, place] = await Promise.all([realpath(dir), realpath(path)]).catch((cause: unknown) => {
    throw refused(`${path} is not there on this worker, or may not be read`, cause)
  })
  const inside = relative(root, place)
  if (inside !== '' && !isAbsolute(inside) && inside.split('/')[0] !== '..') return place
  throw refused(`${path} is not below ${root}, the folder of images (DROVER_IMAGE_DIR) of this worker`)
}

const refused = (what: string, cause?: unknown) =>
  sourceError('image-source-refused', { class: 'config', message: `${what}.`, cause })
