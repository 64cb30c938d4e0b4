import { Readable } from 'node:stream'
import { type Call, isHandedOver, withinCall } from '../ports/call.ts'
import { unsupported } from '../ports/platform-error.ts'
import type { ImageDisk, ImportProgress, NewImage } from '../ports/templates.ts'
import { labAnswerInvalid } from './lab-answer.ts'
import type { LabLink } from './lab-link.ts'
import { labPath } from './lab-path.ts'
import { imageAnswer, receivedAnswer, template } from './protocol.ts'

const cleanUpMs = 10_000

/** Streams an image in. What a crash of ours left behind under the same name is gone on with where it ended. */
export const importLabImage = (
  link: LabLink,
  call: Call,
  image: NewImage,
  onProgress: (progress: ImportProgress) => void,
): Promise<string> => {
  for (const disk of image.disks)
    if (disk.format !== 'raw') throw unsupported('The lab', `import a disk as ${disk.format}`)
  const begin = async (during: Call): Promise<string> =>
    (
      await link.ask(
        during,
        { method: 'POST', path: '/images', json: wireImage(image), named: true },
        imageAnswer,
      )
    ).ref
  return withinCall(call, async (signal) => {
    const during = { ...call, signal }
    try {
      const ref = await begin(during)
      await sendDisks(link, during, { ref, image, onProgress })
      const path = labPath`/images/${ref}/complete`
      return (await link.ask(during, { method: 'POST', path }, template)).ref
    } catch (error) {
      if (!isHandedOver(error)) await removeRest(link, call.name, begin)
      throw error
    }
  })
}

const sendDisks = async (
  link: LabLink,
  call: Call,
  sending: { ref: string; image: NewImage; onProgress: (progress: ImportProgress) => void },
): Promise<void> => {
  const { ref, image, onProgress } = sending
  const total = image.disks.reduce((sum, disk) => sum + disk.size, 0)
  let done = 0
  for (const disk of image.disks) {
    const path = labPath`/images/${ref}/disks/${disk.id}`
    const { received } = await link.ask(call, { method: 'GET', path }, receivedAnswer)
    const rest = disk.size - received
    if (rest < 0) throw labAnswerInvalid(`more bytes of disk ${disk.id} than it has`)
    done += received
    const onBytes = (count: number) => {
      done += count
      onProgress({ done, total })
    }
    if (rest > 0) await sendDisk(link, call, { path, disk, received, onBytes })
    onProgress({ done, total })
  }
}

const sendDisk = async (
  link: LabLink,
  call: Call,
  sending: { path: string; disk: ImageDisk; received: number; onBytes: (count: number) => void },
): Promise<void> => {
  const { path, disk, received, onBytes } = sending
  const source = await disk.open()
  // Its errors come out where it is read; one that comes when nobody reads any more must not end the process.
  source.on('error', () => {})
  try {
    const bytes = Readable.from(rest(source, received, onBytes), { objectMode: false })
    const put = {
      method: 'PUT',
      path,
      query: { offset: received },
      bytes,
      bodyBytes: disk.size - received,
    } as const
    const answer = await link.ask(call, put, receivedAnswer)
    if (answer.received !== disk.size)
      throw labAnswerInvalid(`only ${answer.received} bytes of disk ${disk.id}`)
  } finally {
    source.destroy()
  }
}

/** What comes after the first bytes, counted as it goes out. */
async function* rest(
  source: Readable,
  skip: number,
  onBytes: (count: number) => void,
): AsyncGenerator<Buffer, void> {
  let left = skip
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const piece = chunk.subarray(Math.min(left, chunk.length))
    left -= chunk.length - piece.length
    if (piece.length === 0) continue
    yield piece
    onBytes(piece.length)
  }
}

/** Asks by name for the image once more, as the answer may have been lost, and removes it; then nothing is left. */
const removeRest = async (
  link: LabLink,
  name: string,
  begin: (call: Call) => Promise<string>,
): Promise<void> => {
  const call = { signal: AbortSignal.timeout(cleanUpMs), timeoutMs: cleanUpMs, name }
  try {
    await link.send(call, { method: 'DELETE', path: labPath`/images/${await begin(call)}` })
  } catch {
    // The caller's error says more. What is left is incomplete, has our name, and the next try goes on with it.
  }
}

const wireImage = (image: NewImage) => ({
  name: image.templateName,
  folder: image.folder,
  project: image.project,
  pool: image.pool,
  host: image.host,
  network: image.network,
  cpus: image.cpus,
  memory: image.memory,
  disks: image.disks.map(({ id, capacity, size, format }) => ({ id, capacity, size, format })),
  owner: image.owner,
})
