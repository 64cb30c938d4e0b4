import type { Readable } from 'node:stream'
import type { Ref } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import type { Extent } from '../../ports/disks.ts'
import { PlatformError } from '../../ports/platform-error.ts'
import { datacenterOf, folderPath } from '../machines/machines-folder.ts'
import { absent, hostOf, refused } from '../soap/machines-reading.ts'
import type { Session } from '../soap/session.ts'

/** A file on a datastore, as vSphere writes it: `[datastore] folder/file.vmdk`. */
export interface DatastoreFile {
  /** Inventory path without its first slash. */
  readonly datacenter: string
  readonly datastore: string
  readonly path: string
}

/** Nobody asks for more at once; a disk is read in ranges. */
const mostBytes = 64 * 1024 ** 2
/** What a refusal may say of itself; nobody reads it. */
const errorPageBytes = 64 * 1024
const stallMs = 60_000

export const parseDatastorePath = (text: string): { readonly datastore: string; readonly path: string } => {
  const found = /^\[([^\]]+)\]\s*(.*)$/s.exec(text)
  if (found) return { datastore: found[1] as string, path: found[2] as string }
  throw refused(`${text} is no path on a datastore.`, 'Give it as [datastore] folder/file.')
}

/** What the file service calls the data centre that holds it. */
export const datacenterPath = async (session: Session, call: Call, of: Ref): Promise<string> =>
  (await folderPath(session, call, await datacenterOf(session, call, of))).slice(1)

/** Exactly these bytes, or an error. */
export const readRange = async (
  session: Session,
  call: Call,
  file: DatastoreFile,
  range: Extent,
): Promise<Buffer> => {
  const { offset, length } = range
  if (length === 0) return Buffer.alloc(0)
  if (length > mostBytes)
    throw refused(`${length} bytes are more than is read at once.`, `Ask for at most ${mostBytes} bytes.`)
  const answer = await withSession(session, call, () =>
    session.http.request(call, {
      method: 'GET',
      path: filePath(file),
      headers: { Cookie: session.cookie, Range: `bytes=${offset}-${offset + length - 1}` },
      maxBytes: Math.max(length, errorPageBytes),
      stallMs,
    }),
  )
  if (answer.status === 404) throw absent(session, fileName(file))
  if (answer.status === 416) throw shortAnswer(session, file, `it ends before byte ${offset}`)
  if (answer.status !== 206) throw unexpectedStatus(session, file, answer.status)
  const said = answer.headers['content-range'] ?? ''
  if (!said.startsWith(`bytes ${offset}-${offset + length - 1}/`))
    throw shortAnswer(session, file, `it is of the range "${said.slice(0, 80)}"`)
  if (answer.body.length !== length)
    throw shortAnswer(session, file, `it has ${answer.body.length} of ${length} bytes`)
  return answer.body
}

/** Puts a whole file in its place; what was there before is replaced. A short source fails and leaves a rest. */
export const uploadToDatastore = async (
  session: Session,
  call: Call,
  file: DatastoreFile,
  content: { readonly stream: Readable; readonly bytes: number },
): Promise<void> => {
  try {
    await session.signIn(call)
    const answer = await session.http.request(call, {
      method: 'PUT',
      path: filePath(file),
      headers: { Cookie: session.cookie, 'Content-Type': 'application/octet-stream' },
      body: content.stream,
      bodyBytes: content.bytes,
      answerMs: call.timeoutMs,
      stallMs,
    })
    if (answer.status !== 200 && answer.status !== 201) throw unexpectedStatus(session, file, answer.status)
  } finally {
    content.stream.destroy()
  }
}

/** The file service answers a forgotten session with 401; then it is asked once more under a new one. */
const withSession = async <Answer extends { readonly status: number }>(
  session: Session,
  call: Call,
  ask: () => Promise<Answer>,
): Promise<Answer> => {
  await session.signIn(call)
  const answer = await ask()
  if (answer.status !== 401) return answer
  session.forget()
  await session.signIn(call)
  return ask()
}

const filePath = ({ datacenter, datastore, path }: DatastoreFile): string => {
  const query = new URLSearchParams({ dcPath: datacenter, dsName: datastore })
  return `/folder/${path.split('/').map(encodeURIComponent).join('/')}?${query.toString().replaceAll('+', '%20')}`
}

const fileName = ({ datastore, path }: DatastoreFile): string => `file [${datastore}] ${path}`

const shortAnswer = (session: Session, file: DatastoreFile, why: string): PlatformError =>
  new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `The answer of ${hostOf(session)} for ${fileName(file)} cannot be used: ${why}.`,
    remedy: 'It is tried again. When it stays so, look at the file in the datastore browser.',
  })

const unexpectedStatus = (session: Session, file: DatastoreFile, status: number): PlatformError =>
  new PlatformError({
    code: status === 401 || status === 403 ? 'platform-permission' : 'platform-fault',
    failure: status === 401 || status === 403 ? 'refused' : 'unknown',
    message: `${hostOf(session)} answers for ${fileName(file)} with HTTP ${status}.`,
    remedy:
      'The account needs Datastore.Browse and Datastore.FileManagement; a running machine locks its files.',
    detail: { status },
  })
