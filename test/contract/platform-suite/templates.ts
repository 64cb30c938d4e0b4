import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { FencedError } from '../../../src/errors.ts'
import type { ImportProgress, NewImage, TemplateFacts } from '../../../src/platforms/ports/templates.ts'
import { until } from '../../support/wait.ts'
import {
  callOf,
  done,
  errorOf,
  expectError,
  made,
  newName,
  nowhere,
  ownerOf,
  type PlatformUnderTest,
  portIn,
  present,
} from './world.ts'

const namesIn = (templates: readonly TemplateFacts[]): string[] => templates.map(({ name }) => name)

export const testTemplates = (world: PlatformUnderTest): void => {
  const templates = () => portIn(world, 'templates')
  const newTemplate = async (): Promise<TemplateFacts> => {
    const machine = await world.machine()
    await templates().markTemplate(callOf(), machine.ref)
    return present(templates().template(callOf(), machine.ref))
  }

  test('makes a template of a machine, lists it in its folder and makes it a machine again', async () => {
    const template = await newTemplate()
    expect(template.complete).toBe(true)
    const listed = await templates().templates(callOf(), template.folder)
    expect(listed.filter(({ ref }) => ref === template.ref)).toEqual([template])
    const facts = await present(portIn(world, 'inventory').instance(callOf(), template.ref))
    expect(facts).toMatchObject({ template: true, name: template.name })
    await expectError(done(portIn(world, 'power').start(callOf(), template.ref)), { failure: 'refused' })
    await templates().markMachine(callOf(), template.ref)
    expect(await templates().template(callOf(), template.ref)).toEqual({ found: false })
    const after = await templates().templates(callOf(), template.folder)
    expect(after.filter(({ ref }) => ref === template.ref)).toEqual([])
  })

  test('renames a template, unless the name is taken', async () => {
    const [one, two] = [await newTemplate(), await newTemplate()]
    const name = newName('golden')
    await done(templates().renameTemplate(callOf(), one.ref, name))
    expect((await present(templates().template(callOf(), one.ref))).name).toBe(name)
    const taken = done(templates().renameTemplate(callOf(), two.ref, name))
    await expectError(taken, { code: 'platform-name-taken', failure: 'refused' })
    expect((await present(templates().template(callOf(), two.ref))).name).toBe(two.name)
  })

  test('removes a template, and knows what is not there', async () => {
    const template = await newTemplate()
    await done(templates().destroyTemplate(callOf(), template.ref))
    expect(await templates().template(callOf(), template.ref)).toEqual({ found: false })
    expect(await templates().template(callOf(), nowhere)).toEqual({ found: false })
    for (const act of [
      () => done(templates().destroyTemplate(callOf(), template.ref)),
      () => done(templates().renameTemplate(callOf(), nowhere, newName('no'))),
      () => templates().markTemplate(callOf(), nowhere),
    ])
      await expectError(act(), { failure: 'absent' })
  })

  if (world.declares.includes('clone'))
    test('a clone of a template is a machine', async () => {
      const template = await newTemplate()
      const to = { machineName: newName('clone'), folder: world.place.folder, owner: ownerOf() }
      const ref = await made(portIn(world, 'machines').clone(callOf(), template.ref, to))
      const facts = await present(portIn(world, 'inventory').instance(callOf(), ref))
      expect(facts).toMatchObject({ template: false, name: to.machineName })
      expect((await present(templates().template(callOf(), template.ref))).complete).toBe(true)
    })
}

/** The same image whose first disk stops half-way: for ever, or with an error. */
const cutShort = (image: NewImage, end: 'stalls' | 'breaks'): NewImage => {
  const [first, ...others] = image.disks
  if (!first) throw new Error('The image of this platform has no disk.')
  const open = async () => {
    const source = await first.open()
    return Readable.from(firstHalf(source, first.size / 2, end), { objectMode: false })
  }
  return { ...image, disks: [{ ...first, open }, ...others] }
}

async function* firstHalf(source: Readable, size: number, end: 'stalls' | 'breaks'): AsyncGenerator<Buffer> {
  let sent = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const piece = chunk.subarray(0, Math.max(0, size - sent))
    sent += piece.length
    if (piece.length > 0) yield piece
    if (sent >= size) break
  }
  if (end === 'breaks') throw new Error('the archive is torn')
  await new Promise<void>((resolve) => source.once('never', resolve))
}

/** Templates of an image's name, whole or not. */
const leftOf = async (world: PlatformUnderTest, wanted: NewImage): Promise<string[]> => {
  const all = await portIn(world, 'templates').templates(callOf(), wanted.folder)
  return namesIn(all).filter((name) => name === wanted.templateName)
}

export const testImport = (world: PlatformUnderTest, image: () => NewImage): void => {
  const templates = () => portIn(world, 'templates')
  const left = (wanted: NewImage) => leftOf(world, wanted)

  test('streams an image in, says how far it is, and only a whole one looks whole', async () => {
    const wanted = image()
    expect(templates().imageFormats).toEqual(expect.arrayContaining(wanted.disks.map(({ format }) => format)))
    const seen: ImportProgress[] = []
    const ref = await templates().importImage(callOf(), wanted, (progress) => seen.push(progress))
    const total = wanted.disks.reduce((sum, { size }) => sum + size, 0)
    expect(seen.at(-1)).toEqual({ done: total, total })
    expect(seen.map(({ done: bytes }) => bytes)).toEqual(
      seen.map(({ done: bytes }) => bytes).sort((a, b) => a - b),
    )
    const facts = await present(templates().template(callOf(), ref))
    expect(facts).toMatchObject({ name: wanted.templateName, complete: true, owner: wanted.owner })
    expect(await left(wanted)).toHaveLength(1)
    expect(await portIn(world, 'machines').findOwned(callOf(), wanted.owner)).toEqual([ref])
  })

  test('an image that breaks in the middle leaves nothing, and its own error comes out', async () => {
    const wanted = image()
    const importing = templates().importImage(callOf(), cutShort(wanted, 'breaks'), () => {})
    await expect(importing).rejects.toThrow('the archive is torn')
    expect(await left(wanted)).toEqual([])
  })

  test('a name that another template has is refused, and the other is untouched', async () => {
    const first = image()
    const ref = await templates().importImage(callOf(), first, () => {})
    const second = { ...image(), templateName: first.templateName, owner: ownerOf() }
    const error = await errorOf(templates().importImage(callOf(), second, () => {}))
    expect(error.code).toBe('platform-name-taken')
    expect(await portIn(world, 'machines').findOwned(callOf(), second.owner)).toEqual([])
    expect((await present(templates().template(callOf(), ref))).complete).toBe(true)
  })

  testAbortedImport(world, image)
}

const testAbortedImport = (world: PlatformUnderTest, image: () => NewImage): void => {
  const templates = () => portIn(world, 'templates')

  test('an import that is aborted ends at once and leaves nothing, and can be begun again', async () => {
    const wanted = image()
    const ending = new AbortController()
    const started: ImportProgress[] = []
    const name = newName('import')
    const importing = templates().importImage(
      callOf({ signal: ending.signal, name }),
      cutShort(wanted, 'stalls'),
      (progress) => started.push(progress),
    )
    const failed = expect(importing).rejects.toThrow('superseded')
    await until(() => started.some(({ done: bytes }) => bytes > 0), {
      what: 'bytes to flow',
      withinMs: 30_000,
    })
    ending.abort(new Error('superseded'))
    await failed
    expect(await leftOf(world, wanted)).toEqual([])
    const ref = await templates().importImage(callOf({ name }), wanted, () => {})
    expect((await present(templates().template(callOf(), ref))).complete).toBe(true)
  })

  test('a fenced worker leaves its image to its successor, whose import goes through', async () => {
    const wanted = image()
    const name = newName('import')
    const fenced = new AbortController()
    const started: ImportProgress[] = []
    const call = callOf({ signal: fenced.signal, name })
    const old = templates().importImage(call, cutShort(wanted, 'stalls'), (progress) =>
      started.push(progress),
    )
    const ended = expect(old).rejects.toThrow('no longer held')
    await until(() => started.some(({ done: bytes }) => bytes > 0), {
      what: 'bytes to flow',
      withinMs: 30_000,
    })
    fenced.abort(new FencedError('job-1', 7))
    await ended
    const ref = await templates().importImage(callOf({ name }), wanted, () => {})
    expect(await portIn(world, 'machines').findOwned(callOf(), wanted.owner)).toEqual([ref])
    expect((await present(templates().template(callOf(), ref))).complete).toBe(true)
  })
}
