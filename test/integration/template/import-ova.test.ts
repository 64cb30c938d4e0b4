import { randomBytes } from 'node:crypto'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { shelfName } from '../../../src/domain/template/names.ts'
import { FencedError } from '../../../src/errors.ts'
import { CancelRequest } from '../../../src/ledger/job.ts'
import { enqueue } from '../../../src/ledger/jobs/enqueue.ts'
import { serveTls } from '../../support/hostile-server.ts'
import { effectsOf, expire, jobOf } from '../../support/ledger.ts'
import { requestCancel } from '../../support/ledger-verbs.ts'
import { serveArchive } from '../../support/ova/archive-server.ts'
import { createImageWorld, imageFolder } from '../../support/ova/image-world.ts'
import { ovaOf, vmdkDisk } from '../../support/ova/ova.ts'
import { selfSigned } from '../../support/self-signed.ts'
import { tempDir } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const world = await createImageWorld()
const { db, lab } = world

/** Two disks, so that something is on the platform before the archive has ended. */
const contents = [randomBytes(1_048_576), Buffer.concat([randomBytes(524_288), Buffer.alloc(1_048_576)])]
const made = { disks: contents.map((content, index) => vmdkDisk(`disk-${index}`, content)) }
const archive = ovaOf(made)
/** Where the bytes of the second disk have begun. */
const inSecondDisk =
  archive.indexOf('KDMV', archive.indexOf('KDMV', archive.indexOf('KDMV') + 1) + 1) + 100_000

const expectWhole = async (image: Awaited<ReturnType<typeof world.ask>>): Promise<string> => {
  const [row, replica] = [await image.row(), await image.replica()]
  expect(row).toMatchObject({ state: 'ready', error: null })
  const name = shelfName({ imageId: image.id, folder: imageFolder })
  const named = (await world.templates()).filter((one) => one.name === name)
  expect(named).toEqual([expect.objectContaining({ ref: replica.ref, complete: true })])
  for (const [index, content] of contents.entries()) {
    const bytes = await world.content(replica.ref ?? '', `disk-${index}`, content.length)
    expect(bytes.equals(content)).toBe(true)
  }
  return replica.ref ?? ''
}

const expectNothing = async (imageId: string): Promise<void> => {
  const name = shelfName({ imageId, folder: imageFolder })
  expect((await world.templates()).filter((one) => one.name === name)).toEqual([])
}

const halted = () => {
  let go = () => {}
  const halt = new Promise<void>((resolve) => {
    go = resolve
  })
  return { halt: { at: inSecondDisk, until: halt }, go: () => go() }
}

/** Until a disk has arrived, and the template is there and not whole. */
const begun = (imageId: string) =>
  until(
    async () => {
      const name = shelfName({ imageId, folder: imageFolder })
      return (await world.templates()).some((one) => one.name === name && !one.complete)
    },
    { what: 'the import to begin' },
  )

test('an archive is imported, and what was read of it is recorded', async () => {
  const server = await serveArchive(archive)
  const image = await world.ask({ kind: 'url', url: server.url }, { requireManifest: true })
  await world.worker().follow(image.jobId)
  expect(await jobOf(db, image.jobId)).toMatchObject({ state: 'succeeded', error: null })
  await expectWhole(image)
  expect(await image.row()).toMatchObject({
    ...{ sizeBytes: archive.length, verified: 'manifest' },
    facts: {
      ...{ product: 'Golden', version: '1.2', firmware: 'efi', cpus: 2, memory: 512 * 1024 ** 2 },
      disks: contents.map(({ length }, index) => ({
        ...{ id: `disk-${index}`, capacity: length, format: 'vmdk-stream' },
        size: made.disks[index]?.bytes.length,
      })),
    },
  })
  expect(server.asked).toEqual([''])
})

test('a later disk whose header has another capacity than the descriptor is taken at its header', async () => {
  const wrong = made.disks.map((disk) => ({ ...disk, capacity: disk.bytes.length }))
  const server = await serveArchive(ovaOf({ disks: wrong }))
  const image = await world.ask({ kind: 'url', url: server.url })
  await world.worker().follow(image.jobId)
  await expectWhole(image)
  expect(server.asked).toEqual(['', ''])
})

const lateManifest = ovaOf({ ...made, manifestLast: true })
const wrongHash = Buffer.from(lateManifest)
wrongHash.write('00000000', lateManifest.indexOf('SHA256(disk-1.vmdk)') + 22)

test.each([
  ['a wrong hash at its very end', wrongHash, {}, 'image-hash-mismatch'],
  ['another digest', archive, { sha256: '0'.repeat(64) }, 'image-digest-mismatch'],
  ['an end that is missing', archive.subarray(0, archive.length - 10_240), {}, 'image-truncated'],
  [
    'no manifest where one is wanted',
    ovaOf({ ...made, manifest: null }),
    { requireManifest: true },
    'image-manifest-required',
  ],
])('an archive with %s never looks whole, and leaves nothing', async (_what, bytes, over, code) => {
  const server = await serveArchive(bytes)
  const image = await world.ask({ kind: 'url', url: server.url }, over)
  await world.worker().follow(image.jobId)
  expect(await jobOf(db, image.jobId)).toMatchObject({ state: 'failed', error: { code, class: 'permanent' } })
  expect(await image.row()).toMatchObject({ state: 'failed', error: { code } })
  await expectNothing(image.id)
  expect((await effectsOf(db, image.jobId)).map(({ state }) => state)).toEqual(['undone'])
})

test('a connection that is cut is gone on with by a range', async () => {
  const server = await serveArchive(archive, { cuts: [200_000, 300_000] })
  const image = await world.ask({ kind: 'url', url: server.url })
  await world.worker().follow(image.jobId)
  await expectWhole(image)
  expect(server.asked[0]).toBe('')
  expect(server.asked.slice(1).every((range) => /^bytes=\d+-$/.test(range))).toBe(true)
})

test.each(['ignored', 'refused'] as const)(
  'a cut archive is read anew where ranges are %s',
  async (ranges) => {
    const server = await serveArchive(archive, { cuts: [inSecondDisk], ranges })
    const image = await world.ask({ kind: 'url', url: server.url })
    await world.worker().follow(image.jobId)
    expect(await jobOf(db, image.jobId)).toMatchObject({
      state: 'ready',
      error: { code: 'image-source-changed' },
    })
    await world.worker().follow(image.jobId)
    await expectWhole(image)
  },
)

test('halves of two archives are never joined', async () => {
  const other = contents.map((content) => Buffer.from(content).fill(1, 0, 4_096))
  const old = ovaOf({ disks: other.map((content, index) => vmdkDisk(`disk-${index}`, content)) })
  const { halt } = halted()
  const server = await serveArchive(old, { etag: '"old"', halt })
  const image = await world.ask({ kind: 'url', url: server.url })
  const first = world.worker()
  const turn = first.follow(image.jobId)
  await begun(image.id)
  await expire(db, image.jobId)
  for (const ctx of first.keeper.contexts()) ctx.abort(new FencedError(image.jobId, 1))
  await turn
  Object.assign(server.state, { bytes: archive, etag: '"new"', halt: null })
  await db`update job set state = 'ready', bell = 'due', lease_until = null, worker_id = null where id = ${image.jobId}::uuid`
  await world.worker().follow(image.jobId)
  await expectWhole(image)
})

test('a worker that lost its lease leaves the import to the next one, which goes on with it', async () => {
  const { halt, go } = halted()
  const server = await serveArchive(archive, { halt })
  const image = await world.ask({ kind: 'url', url: server.url })
  const first = world.worker()
  const turn = first.follow(image.jobId)
  await begun(image.id)
  const [before] = (await world.templates()).filter(({ complete }) => !complete)
  for (const ctx of first.keeper.contexts()) ctx.abort(new FencedError(image.jobId, 1))
  await turn
  server.state.halt = null
  go()
  await db`update job set state = 'ready', bell = 'due', lease_until = null, worker_id = null where id = ${image.jobId}::uuid`
  await world.worker().follow(image.jobId)
  expect(await expectWhole(image)).toBe(before?.ref)
})

test('a cancel in the middle leaves nothing', async () => {
  const { halt, go } = halted()
  const server = await serveArchive(archive, { halt })
  const image = await world.ask({ kind: 'url', url: server.url })
  const worker = world.worker()
  const turn = worker.follow(image.jobId)
  await begun(image.id)
  await requestCancel(db, image.jobId, { by: 'test', reason: 'no longer wanted' })
  for (const ctx of worker.keeper.contexts()) ctx.abort(new CancelRequest('no longer wanted'))
  await turn
  go()
  expect((await jobOf(db, image.jobId)).state).toBe('canceled')
  expect(await image.row()).toMatchObject({ state: 'failed', error: { code: 'image-import-ended' } })
  await expectNothing(image.id)
})

test('an import that was whole before its answer was lost is adopted and not sent again', async () => {
  const server = await serveArchive(archive)
  const image = await world.ask({ kind: 'url', url: server.url })
  await lab.admin('POST /lab/faults', { kind: 'lost-answer', call: 'image-complete', times: 1 })
  await world.worker().follow(image.jobId)
  expect((await jobOf(db, image.jobId)).state).toBe('ready')
  const [left] = (await world.templates()).filter(
    ({ name }) => name === shelfName({ imageId: image.id, folder: imageFolder }),
  )
  expect(left?.complete).toBe(true)
  await world.worker().follow(image.jobId)
  expect(await expectWhole(image)).toBe(left?.ref)
})

test('a job that somebody has sent beside that of an image imports and destroys nothing', async () => {
  const server = await serveArchive(archive)
  const [image, other] = [
    await world.ask({ kind: 'url', url: server.url }),
    await world.ask({ kind: 'url', url: server.url }),
  ]
  const whole = async () => (await world.templates()).filter(({ complete }) => complete).length
  const before = await whole()
  await world.worker().follow(other.jobId)
  for (const replica of [await other.replica(), await image.replica()]) {
    const payload = { image_id: image.id, replica_id: replica.id }
    const [sent] = await db.begin((tx) =>
      enqueue(tx, [
        { kind: 'import-ova', payload, subject: { type: 'image', id: image.id }, createdBy: 'test' },
      ]),
    )
    await world.worker().follow(sent?.id ?? '')
    expect((await jobOf(db, sent?.id ?? '')).state).toBe('succeeded')
    expect(await effectsOf(db, sent?.id ?? '')).toEqual([])
  }
  expect((await image.row()).state).toBe('importing')
  await expectWhole(other)
  expect(await whole()).toBe(before + 1)
})

test("a stranger's template under the name is not touched, and a person is told", async () => {
  const server = await serveArchive(archive)
  const image = await world.ask({ kind: 'url', url: server.url })
  const name = shelfName({ imageId: image.id, folder: imageFolder })
  const site = await lab.signIn('cloud')
  const stranger = {
    ...{ name, folder: imageFolder, project: 'default', pool: 'local', host: '', network: '', cpus: 1 },
    ...{ memory: 1024 ** 3, disks: [], owner: { somebody: 'else' } },
  }
  const { ref } = (await site.call('POST /images', stranger)).json as { ref: string }
  await world.worker().follow(image.jobId)
  expect(await jobOf(db, image.jobId)).toMatchObject({
    state: 'failed',
    error: { code: 'template-name-taken' },
  })
  expect((await world.templates()).filter((one) => one.name === name)).toMatchObject([{ ref }])
})

test('an archive is read from the folder that the worker allows, and from nowhere else', async () => {
  const root = await tempDir('images')
  const dir = join(root, 'allowed')
  await mkdir(dir)
  await writeFile(join(dir, 'image.ova'), archive)
  await writeFile(join(root, 'outside.ova'), archive)
  await symlink(join(root, 'outside.ova'), join(dir, 'link.ova'))
  await symlink(join(dir, 'image.ova'), join(dir, 'inner.ova'))
  const image = await world.ask({ kind: 'file', path: join(dir, 'inner.ova') })
  await world.worker({ dir }).follow(image.jobId)
  await expectWhole(image)
  const refusals = [
    [{ dir }, join(root, 'outside.ova')],
    [{ dir }, join(dir, '..', 'outside.ova')],
    [{ dir }, join(dir, 'link.ova')],
    [{ dir }, join(dir, 'absent.ova')],
    [{ dir }, dir],
    [{}, join(dir, 'image.ova')],
  ] as const
  for (const [means, path] of refusals) {
    const refused = await world.ask({ kind: 'file', path })
    await world.worker(means).follow(refused.jobId)
    expect([path, await jobOf(db, refused.jobId)]).toMatchObject([
      path,
      { state: 'failed', error: { code: 'image-source-refused', class: 'config' } },
    ])
  }
})

test('a few redirects are followed; many, and private addresses, are refused', async () => {
  const server = await serveArchive(archive)
  const at = (hops: number) => server.url.replace('image.ova', `to/${hops}`)
  const image = await world.ask({ kind: 'url', url: at(3) })
  await world.worker().follow(image.jobId)
  await expectWhole(image)
  for (const [url, means] of [
    [at(9), {}],
    [server.url, { allowPrivate: false }],
    [server.url.replace('image.ova', 'to/x'), { allowPrivate: false }],
  ] as const) {
    const refused = await world.ask({ kind: 'url', url })
    await world.worker(means).follow(refused.jobId)
    expect(await jobOf(db, refused.jobId)).toMatchObject({
      state: 'failed',
      error: { code: 'image-source-refused', class: 'config' },
    })
  }
})

test('a server is trusted by its authority or by its pinned certificate, and not otherwise', async () => {
  const identity = selfSigned()
  const server = await serveTls(identity, (_incoming, answer) => answer.end(archive))
  const other = selfSigned()
  const url = `${server.url}/image.ova`
  for (const trust of [{ ca: identity.cert }, { fingerprint: identity.fingerprint }]) {
    const image = await world.ask({ kind: 'url', url, ...trust })
    await world.worker().follow(image.jobId)
    await expectWhole(image)
  }
  for (const trust of [{}, { ca: other.cert }, { fingerprint: other.fingerprint }]) {
    const image = await world.ask({ kind: 'url', url, ...trust })
    await world.worker().follow(image.jobId)
    expect(await jobOf(db, image.jobId)).toMatchObject({
      state: 'failed',
      error: { code: 'image-source-refused', class: 'config' },
    })
  }
})

test('an address with TLS never leads to another without', async () => {
  const plain = await serveArchive(archive)
  const identity = selfSigned()
  const server = await serveTls(identity, (_incoming, answer) =>
    answer.writeHead(302, { location: plain.url }).end(),
  )
  const image = await world.ask({ kind: 'url', url: server.url, ca: identity.cert })
  await world.worker().follow(image.jobId)
  expect(await jobOf(db, image.jobId)).toMatchObject({
    state: 'failed',
    error: { code: 'image-source-refused' },
  })
  expect(plain.asked).toEqual([])
})
