import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { FencedError } from '../../src/errors.ts'
import { openLab } from '../../src/platforms/lab/lab.ts'
import { type Platform, portOf } from '../../src/platforms/ports/ports.ts'
import type { NewImage } from '../../src/platforms/ports/templates.ts'
import { atEnd } from '../support/cleanup.ts'
import { createLab } from '../support/lab.ts'
import { until } from '../support/wait.ts'
import { callOf, expectError, newName, ownerOf, present } from './platform-suite/world.ts'

const lab = await createLab()

const open = (): Platform => {
  const platform = openLab({
    kind: 'lab',
    endpoint: lab.endpoint('cloud'),
    username: 'drover',
    password: lab.password,
    ca: '',
    fingerprint: '',
    caller: 'import',
    connectTimeoutMs: 10_000,
  })
  atEnd(() => platform.close())
  return platform
}

const content = randomBytes(600_000)
const disk = { id: 'disk-0', capacity: 1024 ** 2, size: content.length, format: 'raw' } as const

const imageOf = (source: () => Readable, templateName = newName('image')): NewImage => ({
  templateName,
  folder: '/cloud/templates',
  project: 'default',
  pool: 'local',
  host: '',
  network: '',
  ovf: '',
  cpus: 1,
  memory: 1024 ** 3,
  disks: [{ ...disk, open: () => Promise.resolve(source()) }],
  owner: ownerOf(),
})

const whole = () =>
  Readable.from([content.subarray(0, 100_000), content.subarray(100_000)], { objectMode: false })

/** The first half at once, the rest when `go` resolves. */
const halting = (go: Promise<void>) => () =>
  Readable.from(
    (async function* () {
      yield content.subarray(0, 300_000)
      await go
      yield content.subarray(300_000)
    })(),
    { objectMode: false },
  )

const begin = (image: NewImage, over: Parameters<typeof callOf>[0]) => {
  const seen: number[] = []
  const ended = portOf(open(), 'templates').importImage(callOf(over), image, ({ done }) => seen.push(done))
  return { ended, flows: () => until(() => seen.some((bytes) => bytes > 0), { what: 'bytes to flow' }), seen }
}

const expectContent = async (ref: string): Promise<void> => {
  const range = { offset: 0, length: content.length }
  const bytes = await portOf(open(), 'disks').read(callOf(), { machine: ref, disk: disk.id }, range)
  expect(bytes.equals(content)).toBe(true)
}

test('an import that a crash cut short is gone on with where its bytes end', async () => {
  const name = newName('import')
  const opened: number[] = []
  const image = imageOf(() => {
    opened.push(1)
    return whole()
  })
  const { templateName, ovf: _, disks: __, ...rest } = image
  const crashed = await lab.signIn('cloud')
  const begun = await crashed.call('POST /images', { ...rest, name: templateName, disks: [disk] }, { name })
  const { ref } = begun.json as { ref: string }
  await crashed.call(`PUT /images/${ref}/disks/${disk.id}`, content.subarray(0, 250_000))
  const { ended, seen } = begin(image, { name })
  expect(await ended).toBe(ref)
  expect(opened).toEqual([1])
  expect(seen.at(-1)).toBe(content.length)
  await expectContent(ref)
})

test('a fenced worker does not take the image from under its successor', async () => {
  const name = newName('import')
  const fenced = new AbortController()
  const old = begin(imageOf(halting(new Promise(() => {}))), { name, signal: fenced.signal })
  await old.flows()
  let go = () => {}
  const image = imageOf(
    halting(
      new Promise((resolve) => {
        go = resolve
      }),
    ),
  )
  const successor = begin(image, { name })
  await successor.flows()
  const ending = expect(old.ended).rejects.toThrow('no longer held')
  fenced.abort(new FencedError('job-1', 7))
  await ending
  go()
  const ref = await successor.ended
  expect((await present(portOf(open(), 'templates').template(callOf(), ref))).complete).toBe(true)
  await expectContent(ref)
})

test('an import whose first answer was lost leaves nothing either', async () => {
  const image = imageOf(whole)
  await lab.admin('POST /lab/faults', { kind: 'lost-answer', call: 'image-create', times: 1 })
  await expectError(begin(image, {}).ended, { code: 'platform-unreachable', failure: 'unknown' })
  const templates = await portOf(open(), 'templates').templates(callOf(), image.folder)
  expect(templates.map(({ name }) => name)).not.toContain(image.templateName)
  expect(await portOf(open(), 'machines').findOwned(callOf(), image.owner)).toEqual([])
})

test('a format that the lab cannot read is refused before anything is sent', async () => {
  const image = imageOf(whole)
  const packed = { ...image, disks: image.disks.map((one) => ({ ...one, format: 'vmdk-stream' as const })) }
  await expectError(begin(packed, {}).ended, { code: 'platform-unsupported', failure: 'unsupported' })
  expect(await portOf(open(), 'machines').findOwned(callOf(), image.owner)).toEqual([])
})
