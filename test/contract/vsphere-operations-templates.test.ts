import { randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { portOf } from '../../src/platforms/ports/ports.ts'
import type { NewImage } from '../../src/platforms/ports/templates.ts'
import { startSoapProxy } from '../support/soap-proxy.ts'
import { testOvf } from '../support/test-ovf.ts'
import {
  anyCall,
  callNamed,
  makeMachine,
  openTestVsphere,
  portsOf,
  startVsphere,
  vmFolder,
} from '../support/vsphere-machines.ts'
import { until } from '../support/wait.ts'

const { vcsim, ports } = await startVsphere({ methodDelayMs: { HttpNfcLeaseProgress: 10 } })
const { templates, machines, power } = ports
const inventory = portOf(openTestVsphere(vcsim), 'inventory')

const sizes = [3 * 1024 ** 2 + 17, 70_000]
const capacity = 8 * 1024 ** 2

/** `open` gives the content of the disk with that number. */
const image = (
  over: Partial<NewImage> = {},
  open: (index: number) => Readable = (index) => contentOf(sizes[index] as number),
): NewImage => {
  const disks = sizes.map((size, index) => ({ id: `disk-${index}`, capacity, size }))
  return {
    templateName: `image-${randomUUID().slice(0, 8)}`,
    folder: vmFolder,
    project: '',
    pool: '',
    host: '',
    network: 'DC0_DVPG0',
    ovf: testOvf(disks),
    cpus: 2,
    memory: 512 * 1024 ** 2,
    disks: disks.map((disk, index) => ({ ...disk, format: 'vmdk-stream', open: async () => open(index) })),
    owner: { drover: 'template', id: randomUUID() },
    ...over,
  }
}

const contentOf = (bytes: number): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes / 65_536) }, (_, index) =>
      randomBytes(Math.min(65_536, bytes - index * 65_536)),
    ),
    { objectMode: false },
  )

const nothing = () => undefined
const namesIn = async () => (await templates.templates(anyCall(), vmFolder)).map(({ name }) => name)
const leftOf = async (wanted: NewImage) => machines.findOwned(anyCall(), wanted.owner)

test('an image comes in with its disks, card and owner, and is is a complete template at its end', async () => {
  const wanted = image()
  const seen: number[] = []
  const ref = await templates.importImage(anyCall(), wanted, ({ done }) => seen.push(done))
  expect(seen.at(-1)).toBe((sizes[0] as number) + (sizes[1] as number))
  expect(seen).toEqual([...seen].sort((left, right) => left - right))
  const facts = { ref, name: wanted.templateName, folder: vmFolder, owner: wanted.owner }
  expect(await templates.template(anyCall(), ref)).toEqual({
    found: true,
    value: { ...facts, complete: true },
  })
  const made = await inventory.instance(anyCall(), ref)
  expect(made.found && made.value).toMatchObject({
    cpus: 2,
    disks: [{ capacity }, { capacity }],
    nics: [{ network: 'DC0_DVPG0' }],
    template: true,
  })
  expect(await templates.templates(anyCall(), vmFolder)).toContainEqual({ ...facts, complete: true })
  await expect(power.start(anyCall(), ref)).rejects.toMatchObject({ failure: 'refused' })
})

test('a template becomes a machine and a template again, is cloned, renamed and removed', async () => {
  const ref = await makeMachine(ports)
  await templates.markTemplate(anyCall(), ref)
  await templates.markTemplate(anyCall(), ref)
  const to = { machineName: `from-${ref}`, folder: vmFolder, owner: { drover: 'clone' } }
  const clone = await (await machines.clone(anyCall(), ref, to)).wait(anyCall())
  expect(await templates.template(anyCall(), String(clone))).toEqual({ found: false })
  await (await templates.renameTemplate(anyCall(), ref, 'golden')).wait(anyCall())
  expect(await namesIn()).toContain('golden')
  await templates.markMachine(anyCall(), ref)
  await templates.markMachine(anyCall(), ref)
  await (await power.start(anyCall(), ref)).wait(anyCall())
  await expect(templates.markTemplate(anyCall(), ref)).rejects.toMatchObject({ code: 'platform-wrong-state' })
  await (await power.stop(anyCall(), ref)).wait(anyCall())
  await templates.markTemplate(anyCall(), ref)
  await (await templates.destroyTemplate(anyCall(), ref)).wait(anyCall())
  expect(await namesIn()).not.toContain('golden')
  expect(await templates.template(anyCall(), ref)).toEqual({ found: false })
})

test('the same import again gives what it made, and another of that name is refused', async () => {
  const wanted = image()
  const call = callNamed(`import-${randomUUID()}`)
  const ref = await templates.importImage(call, wanted, nothing)
  expect(await templates.importImage(call, wanted, nothing)).toBe(ref)
  await expect(templates.importImage(anyCall(), wanted, nothing)).rejects.toMatchObject({
    code: 'platform-name-taken',
  })
  expect(await leftOf(wanted)).toEqual([ref])
})

test('a disk whose source fails, ends early or is too long ends the import, and nothing is left', async () => {
  const broken = new Readable({ read: () => broken.destroy(new Error('the disk does not fit its digest')) })
  const sources: readonly ((index: number) => Readable)[] = [
    () => broken,
    (index) => contentOf((sizes[index] as number) - 1),
    (index) => contentOf((sizes[index] as number) + 1),
  ]
  const ends = []
  for (const source of sources) {
    const wanted = image({}, source)
    ends.push(await templates.importImage(anyCall(), wanted, nothing).catch((error: Error) => error))
    expect(await leftOf(wanted)).toEqual([])
    expect(await namesIn()).not.toContain(wanted.templateName)
  }
  expect(ends[0]).toMatchObject({ message: 'the disk does not fit its digest' })
  expect(ends.slice(1)).toMatchObject([{ code: 'platform-refused' }, { code: 'platform-refused' }])
})

test('a caller that gives up in the middle ends the import within seconds, and nothing is left', async () => {
  const stop = new AbortController()
  const endless = new Readable({ read: () => {} })
  const wanted = image({}, () => endless)
  const importing = templates.importImage(callNamed('given up', { signal: stop.signal }), wanted, nothing)
  const ended = importing.then(String, (error: Error) => error)
  await until(async () => (await leftOf(wanted)).length === 1, {
    what: 'the import to begin',
    withinMs: 30_000,
  })
  stop.abort(new Error('no longer wanted'))
  expect(await ended).toMatchObject({ message: 'no longer wanted' })
  expect(await leftOf(wanted)).toEqual([])
  expect(endless.destroyed).toBe(true)
})

test('a connection that breaks in an upload, or loses the answer to it, leaves nothing of the import', async () => {
  const proxy = await startSoapProxy(vcsim.url)
  const behind = portsOf(openTestVsphere(vcsim, proxy.url)).templates
  const breaks = [
    () => proxy.cutUpload('/nfc/', 1_000_000),
    () => proxy.loseAnswer('POST /nfc/'),
    () => proxy.loseAnswer('ImportVApp'),
  ]
  for (const breakIt of breaks) {
    const wanted = image()
    breakIt()
    const error = await behind.importImage(anyCall(), wanted, nothing).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ failure: 'unknown' })
    // The way to a lease is a ticket, and its name holds the key of our session.
    expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/session(\[|%5B)[^*]/)
    expect(await leftOf(wanted)).toEqual([])
  }
})

test('a completion whose answer is lost, or that was not heard, ends as a whole image', async () => {
  const proxy = await startSoapProxy(vcsim.url)
  const behind = portsOf(openTestVsphere(vcsim, proxy.url)).templates
  for (const breakIt of [proxy.loseAnswer, proxy.cutBefore]) {
    const wanted = image()
    breakIt('HttpNfcLeaseComplete')
    const ref = await behind.importImage(anyCall(), wanted, nothing)
    expect(await templates.template(anyCall(), ref)).toMatchObject({ value: { complete: true } })
    expect(await leftOf(wanted)).toEqual([ref])
  }
})

test('what a crash cut short never looks whole, and the same import starts anew in its place', async () => {
  const proxy = await startSoapProxy(vcsim.url)
  const behind = portsOf(openTestVsphere(vcsim, proxy.url)).templates
  const wanted = image()
  const call = callNamed(`import-${randomUUID()}`)
  proxy.dieInUpload('/nfc/', 100_000)
  await expect(behind.importImage(call, wanted, nothing)).rejects.toThrow()
  const [rest] = await leftOf(wanted)
  expect(await templates.templates(anyCall(), vmFolder)).toContainEqual(
    expect.objectContaining({ ref: rest, complete: false }),
  )
  await expect(templates.markTemplate(anyCall(), String(rest))).rejects.toMatchObject({
    code: 'platform-wrong-state',
  })
  const ref = await templates.importImage(call, wanted, nothing)
  expect(ref).not.toBe(rest)
  expect(await leftOf(wanted)).toEqual([ref])
})

test('a crash before any step of an import is made good by the same import, and one image is there', async () => {
  const steps = [
    'CreateImportSpec',
    'ImportVApp',
    'HttpNfcLeaseComplete',
    'ReconfigVM_Task',
    'MarkAsTemplate',
  ]
  for (const step of steps) {
    const proxy = await startSoapProxy(vcsim.url)
    const wanted = image()
    const call = callNamed(`import-${randomUUID()}`)
    proxy.dieBefore(step)
    const dying = portsOf(openTestVsphere(vcsim, proxy.url)).templates
    await expect(dying.importImage(call, wanted, nothing)).rejects.toThrow()
    const before = (await templates.templates(anyCall(), vmFolder)).find(
      ({ name }) => name === wanted.templateName,
    )
    expect(before?.complete ?? false, step).toBe(step === 'MarkAsTemplate')
    const ref = await templates.importImage(call, wanted, nothing)
    expect(await leftOf(wanted)).toEqual([ref])
    expect(await templates.template(anyCall(), ref)).toMatchObject({ value: { complete: true } })
    if (before?.complete) expect(ref).toBe(before.ref)
  }
})

test('the lease hears of the import at least every two seconds while not a byte moves', async () => {
  const proxy = await startSoapProxy(vcsim.url)
  const behind = portsOf(openTestVsphere(vcsim, proxy.url)).templates
  const told = () => proxy.at('HttpNfcLeaseProgress')
  const slow = new Readable({ read: () => {} })
  const wanted = image({}, (index) => (index === 0 ? slow : contentOf(sizes[1] as number)))
  const importing = behind.importImage(anyCall(), wanted, nothing)
  await until(() => told().length >= 4, { what: 'four words to the lease', withinMs: 60_000 })
  const gaps = told()
    .slice(1, 4)
    .map((at, index) => at - (told()[index] as number))
  expect(Math.min(...gaps)).toBeGreaterThan(200)
  slow.push(Buffer.alloc(sizes[0] as number))
  slow.push(null)
  expect(await importing).toMatch(/^vm-/)
})

test('an image that does not fit its descriptor is refused before anything is made', async () => {
  const wanted = image()
  const [first, ...rest] = wanted.disks
  const wrong: readonly Partial<NewImage>[] = [
    { disks: rest },
    { disks: [...wanted.disks, { ...(first as (typeof wanted.disks)[0]), id: 'extra' }] },
    { ovf: 'no descriptor' },
  ]
  for (const over of wrong)
    await expect(templates.importImage(anyCall(), { ...wanted, ...over }, nothing)).rejects.toMatchObject({
      failure: 'refused',
    })
  await expect(
    templates.importImage(anyCall(), { ...wanted, network: 'no-net' }, nothing),
  ).rejects.toMatchObject({ failure: 'absent' })
  const raw = wanted.disks.map((disk) => ({ ...disk, format: 'raw' as const }))
  await expect(templates.importImage(anyCall(), { ...wanted, disks: raw }, nothing)).rejects.toMatchObject({
    failure: 'unsupported',
  })
  expect(await leftOf(wanted)).toEqual([])
})
