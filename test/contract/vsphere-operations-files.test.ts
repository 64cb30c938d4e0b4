import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openHttp } from '../../src/platforms/http/platform-http.ts'
import { portOf } from '../../src/platforms/ports/ports.ts'
import {
  type DatastoreFile,
  parseDatastorePath,
  readRange,
  uploadToDatastore,
} from '../../src/platforms/vsphere/disks/datastore.ts'
import { Session } from '../../src/platforms/vsphere/soap/session.ts'
import { atEnd } from '../support/cleanup.ts'
import { openTestHttp, serve } from '../support/hostile-server.ts'
import { startSoapProxy } from '../support/soap-proxy.ts'
import { anyCall, makeMachine, startVsphere, type VsphereWorld } from '../support/vsphere-machines.ts'

const { vcsim, platform, ports } = await startVsphere()

const mib = 1024 ** 2
const capacity = 5 * mib

const openSession = (endpoint = vcsim.url): Session => {
  const http = openHttp({ ...vcsim.connection, endpoint })
  const session = new Session(http, vcsim.connection)
  atEnd(async () => {
    await session.logout()
    http.close()
  })
  return session
}

const session = openSession()

const fileAt = (path: string): DatastoreFile => ({ datacenter: 'DC0', datastore: 'LocalDS_0', path })

const upload = (path: string, bytes: Buffer) =>
  uploadToDatastore(session, anyCall(), fileAt(path), {
    stream: Readable.from(slices(bytes), { objectMode: false }),
    bytes: bytes.length,
  })

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += 60_001) yield bytes.subarray(from, from + 60_001)
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** A machine whose one disk holds these bytes. */
const machineWith = async (bytes: Buffer, made: VsphereWorld['ports'] = ports) => {
  const machine = await makeMachine(made, { disks: [{ key: 'a', capacity: bytes.length, pool: '' }] })
  const facts = await portOf(platform, 'inventory').instance(anyCall(), machine)
  const [disk] = facts.found ? facts.value.disks : []
  if (!disk) throw new Error('The simulator made a machine without its disk.')
  await upload(parseDatastorePath(disk.name).path.replace(/\.vmdk$/, '-flat.vmdk'), bytes)
  return { machine, disk: disk.key }
}

test('a file of 5 MiB comes back byte by byte, whole and in ranges', async () => {
  const bytes = randomBytes(capacity)
  await upload('a folder/ä & b+c.bin', bytes)
  const read = (offset: number, length: number) =>
    readRange(session, anyCall(), fileAt('a folder/ä & b+c.bin'), { offset, length })
  expect(digest(await read(0, capacity))).toBe(digest(bytes))
  const pieces: Buffer[] = []
  for (let offset = 0; offset < capacity; offset += 700_001)
    pieces.push(await read(offset, Math.min(700_001, capacity - offset)))
  expect(digest(Buffer.concat(pieces))).toBe(digest(bytes))
  expect(await read(17, 0)).toHaveLength(0)
})

test('a range beyond the end of a file, a file that is not there and too large a range are errors', async () => {
  await upload('short.bin', randomBytes(1_000))
  const read = (path: string, offset: number, length: number) =>
    readRange(session, anyCall(), fileAt(path), { offset, length })
  await expect(read('short.bin', 900, 200)).rejects.toMatchObject({ code: 'platform-answer-invalid' })
  await expect(read('short.bin', 5_000, 10)).rejects.toMatchObject({ code: 'platform-answer-invalid' })
  await expect(read('not-there.bin', 0, 10)).rejects.toMatchObject({ failure: 'absent' })
  await expect(read('short.bin', 0, 1024 ** 3)).rejects.toMatchObject({ failure: 'refused' })
})

test('the content of a disk of a machine that is off, and of a snapshot, is that of its file', async () => {
  const bytes = randomBytes(capacity)
  const disk = await machineWith(bytes)
  const range = { offset: mib + 3, length: 2 * mib }
  const wanted = digest(bytes.subarray(range.offset, range.offset + range.length))
  expect(digest(await ports.disks.read(anyCall(), disk, range))).toBe(wanted)
  const task = await ports.machines.createSnapshot(anyCall(), disk.machine, {
    snapshotName: 'copied',
    memory: false,
    quiesce: false,
  })
  const snapshot = String(await task.wait(anyCall()))
  await (await ports.power.start(anyCall(), disk.machine)).wait(anyCall())
  expect(digest(await ports.disks.read(anyCall(), { ...disk, snapshot }, range))).toBe(wanted)
  await expect(ports.disks.read(anyCall(), disk, range)).rejects.toMatchObject({
    code: 'platform-wrong-state',
  })
})

test('bytes beyond a disk are refused, and a disk or a machine that is not there is absent', async () => {
  const disk = await machineWith(randomBytes(mib))
  const range = { offset: mib - 10, length: 20 }
  await expect(ports.disks.read(anyCall(), disk, range)).rejects.toMatchObject({ failure: 'refused' })
  const first = { offset: 0, length: 10 }
  for (const wrong of [
    { ...disk, disk: '1' },
    { ...disk, machine: 'vm-9999' },
    { ...disk, snapshot: 'snapshot-9999' },
  ])
    await expect(ports.disks.read(anyCall(), wrong, first)).rejects.toMatchObject({ failure: 'absent' })
})

test('a download and an upload that break off are errors, never short successes', async () => {
  const proxy = await startSoapProxy(vcsim.url)
  const behind = openSession(proxy.url)
  const file = fileAt('cut.bin')
  await upload(file.path, randomBytes(capacity))
  proxy.cutUpload('/folder/cut-upload.bin', mib)
  const stream = Readable.from(slices(randomBytes(capacity)), { objectMode: false })
  await expect(
    uploadToDatastore(behind, anyCall(), fileAt('cut-upload.bin'), { stream, bytes: capacity }),
  ).rejects.toMatchObject({ failure: 'unknown' })
  expect(stream.destroyed).toBe(true)
  proxy.cutAnswer('/folder/cut.bin', mib)
  await expect(readRange(behind, anyCall(), file, { offset: 0, length: capacity })).rejects.toMatchObject({
    failure: 'unknown',
  })
})

test('an answer that is not just the range that was asked for is no content of a file', async () => {
  const range = 'bytes 100-199/1000'
  const bytes = Buffer.alloc(100, 7)
  const answers: readonly [number, Record<string, string>, Buffer, Record<string, string>][] = [
    [200, {}, bytes, { code: 'platform-fault', failure: 'unknown' }],
    [206, {}, bytes, { code: 'platform-answer-invalid' }],
    [206, { 'Content-Range': 'bytes 0-99/1000' }, bytes, { code: 'platform-answer-invalid' }],
    [206, { 'Content-Range': range }, bytes.subarray(1), { code: 'platform-answer-invalid' }],
    [403, {}, Buffer.from('no'), { code: 'platform-permission', failure: 'refused' }],
    [500, {}, Buffer.from('broken'), { code: 'platform-fault', failure: 'unknown' }],
  ]
  let next = answers[0]
  const server = await serve((_incoming, answer) => {
    const [status = 500, headers, body] = next ?? []
    answer.writeHead(status, headers).end(body)
  })
  const http = openTestHttp(`${server.url}/sdk`)
  const signedIn = new Session(http, vcsim.connection, 'vmware_soap_session="planted"')
  for (const one of answers) {
    next = one
    await expect(
      readRange(signedIn, anyCall(), fileAt('x'), { offset: 100, length: 100 }),
    ).rejects.toMatchObject(one[3])
  }
  next = [206, { 'Content-Range': range }, bytes, {}]
  expect(await readRange(signedIn, anyCall(), fileAt('x'), { offset: 100, length: 100 })).toEqual(bytes)
})
