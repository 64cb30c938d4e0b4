import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { FencedError } from '../../../src/errors.ts'
import { enqueue } from '../../../src/ledger/jobs/enqueue.ts'
import { addTemplate } from '../../../src/template/ask/add-template.ts'
import { forgetTemplate } from '../../../src/template/ask/forget-template.ts'
import { jobOf } from '../../support/ledger.ts'
import {
  createSwapLab,
  deathAt,
  expectSwapped,
  freezeAt,
  type Golden,
  goldenFolder,
} from '../../support/swapped-templates.ts'

const world = await createSwapLab()
const { db } = world

interface Case {
  /** What happens to a swap from `first` to `next`, up to where it is to be recovered from. */
  readonly happens: (golden: Golden, images: { first: string; next: string }) => Promise<unknown>
  /** It is a template that was never live. */
  readonly fresh?: true
}

const ref = async (golden: Golden, role: 'production' | 'temp' | 'old') => (await golden.seen())[role]?.ref
const swapDies = (point: string, pass?: number) => async (golden: Golden, images: { next: string }) => {
  await golden.want(images.next)
  await golden.turn(deathAt(point, pass))
}
const put = (name: string, folder = goldenFolder) =>
  world.site.call('POST /images', {
    ...{ name, folder, project: 'default', pool: 'local', host: '', network: '', cpus: 1, memory: 1024 ** 3 },
    ...{
      disks: [{ id: 'disk-0', capacity: 1024 ** 2, size: 0, format: 'raw' }],
      owner: { somebody: 'else' },
    },
  })
const remove = (one: string | undefined) => world.site.done(`DELETE /instances/${one ?? ''}`)

/** A worker that is cut off in the middle of an import: like one that was killed, it cleans nothing up. */
const cutImport = async (golden: Golden): Promise<void> => {
  const { open } = world.disk
  const broken = async function* () {
    yield Buffer.alloc(1024 ** 2, 7)
    throw new FencedError('test', 1)
  }
  Object.assign(world.disk, { open: async () => Readable.from(broken()) })
  await golden.turn()
  Object.assign(world.disk, { open })
  expect((await golden.seen()).temp).toMatchObject({ complete: false })
}

/** By the rows of the table: how each is reached. After all of them the template is at its new image. */
const recovered: Readonly<Record<string, Case>> = {
  'C-1: a crash before anything was changed': { happens: swapDies('after templates') },
  'C-2: a crash after the rest of an earlier import was removed': {
    happens: async (golden, { next }) => {
      await golden.want(next)
      await cutImport(golden)
      // Another image is wanted meanwhile, so that what has arrived is of no use.
      await golden.want(await world.image())
      await world.takeBack()
      await golden.turn(deathAt('after destroyTemplate'))
      await golden.want(next)
    },
  },
  'C-3: a crash in the middle of the upload': {
    happens: async (golden, { next }) => {
      await golden.want(next)
      await cutImport(golden)
    },
  },
  'C-4: a crash after the upload, before it is recorded': { happens: swapDies('after importImage') },
  'C-6: a crash before the first rename': { happens: swapDies('before renameTemplate') },
  'C-7: the answer to the first rename is lost': {
    happens: async (golden, { next }) => {
      await golden.want(next)
      await world.fault({ kind: 'lost-answer', call: 'rename' })
      await golden.turn()
    },
  },
  'C-8: a crash between the renames': {
    happens: async (golden, images) => {
      await swapDies('before renameTemplate', 2)(golden, images)
      expect(await golden.seen()).toMatchObject({ production: undefined, temp: {}, old: {} })
    },
  },
  'C-10: a crash after the second rename': { happens: swapDies('after renameTemplate', 2) },
  'C-13: a new template, and a crash before its first rename': {
    fresh: true,
    happens: async (golden) => golden.turn(deathAt('before renameTemplate')),
  },
  'C-14: production and old are there, and another image is wanted': {
    happens: async (golden, { next }) => {
      await golden.want(await world.image())
      await golden.turn(deathAt('after renameTemplate', 2))
      expect(await golden.seen()).toMatchObject({ production: {}, temp: undefined, old: {} })
      await golden.want(next)
    },
  },
  'C-16: only the new object is there': {
    happens: async (golden, images) => {
      await swapDies('before renameTemplate')(golden, images)
      await remove(await ref(golden, 'production'))
    },
  },
  'C-17: nothing is there': {
    happens: async (golden, { next }) => {
      await remove(await ref(golden, 'production'))
      await golden.want(next)
    },
  },
  'C-18: a crash between the renames of a template with a name of its own on the platform': {
    happens: swapDies('after renameTemplate', 1),
  },
  'C-24: a clone by name in the gap finds nothing, and finds it when it asks again': {
    happens: async (golden, images) => {
      await swapDies('before renameTemplate', 2)(golden, images)
      expect(await ref(golden, 'production')).toBeUndefined()
      await golden.finish()
      const source = await ref(golden, 'production')
      const clone = { name: `clone-of-${golden.name}`, folder: '/cloud', owner: {} }
      expect(await world.site.done(`POST /instances/${source}/clone`, clone)).toMatchObject({
        state: 'succeeded',
      })
    },
  },
  'C-26: a look that fails while the names are looked at': {
    happens: async (golden, { next }) => {
      await golden.want(next)
      await world.fault({ kind: 'error', call: 'templates', times: 20 })
      const before = await world.objects()
      await golden.turn()
      expect(await world.objects()).toEqual(before)
      await world.lab.admin('DELETE /lab/faults')
    },
  },
}

/** Rows that no fault of a swap can lead to here, and why. */
const elsewhere: Readonly<Record<string, string>> = {
  'C-5': 'The tags are given with the call that makes the object: there is no object without them.',
  'C-15':
    'The old object leaves its name before a new one is brought in; test/unit/template/swap-step.test.ts asks the table about all three.',
}

const golden = async (fresh = false) => {
  const images = { first: await world.image('1'), next: await world.image('2') }
  const made = await world.golden(fresh ? images.next : images.first)
  if (!fresh) expect(await made.finish()).toMatchObject({ state: 'succeeded' })
  return { golden: made, images }
}

// promise: template-swap
test.each(Object.entries(recovered))('%s is recovered from', async (_row, { happens, fresh }) => {
  const { golden: one, images } = await golden(fresh)
  await happens(one, images)
  const whole = (await one.seen()).temp
  expect(await one.finish()).toMatchObject({ state: 'succeeded' })
  await expectSwapped(db, one, images.next)
  // What was whole under the temporary name was not sent a second time.
  if (whole?.complete) expect(await ref(one, 'production')).toBe(whole.ref)
})

test('C-3: an upload that was cut short goes on where it was', async () => {
  const { golden: one, images } = await golden()
  await one.want(images.next)
  await cutImport(one)
  const begun = await ref(one, 'temp')
  await one.finish()
  expect(await ref(one, 'production')).toBe(begun)
})

test('C-9: a new object that does not get the name leaves it to the old one, and the error says both', async () => {
  const { golden: one, images } = await golden()
  const before = await ref(one, 'production')
  await one.want(images.next)
  const refusal = { kind: 'error', call: 'rename', code: 'platform-refused', failure: 'refused' }
  await world.fault({ ...refusal, skip: 1, message: 'No such right.' })
  const { state, error } = await one.finish()
  expect(state).toBe('failed')
  expect(error).toMatchObject({ message: expect.stringContaining('No such right.') })
  expect(await one.seen()).toMatchObject({ production: { ref: before }, temp: undefined, old: undefined })
  expect(await one.row()).toMatchObject({ state: 'live', versionLive: 1 })
})

test('C-11, C-12, C-23: what is not kept is destroyed after the grace, as a debt where that is refused or cut short', async () => {
  const [first, next] = [await world.image('1'), await world.image('2')]
  const one = await world.golden(first, { keepVersions: 0, graceSeconds: 500 })
  await one.finish()
  const before = await ref(one, 'production')
  await one.want(next)
  expect(await one.finish()).toMatchObject({ state: 'succeeded' })
  const debts = () => db<{ state: string; grace: boolean }[]>`
    select e.state, e.next_try_at > now() + interval '400 seconds' as grace from effect e
    where e.kind = 'template-removal' and e.subject_id = ${template.id}`
  const template = await one.row()
  expect(await debts()).toEqual([{ state: 'debt', grace: true }])
  expect((await world.objects()).some((object) => object.ref === before)).toBe(true)
  await world.fault({ kind: 'error', call: 'destroy', code: 'platform-refused', failure: 'refused' })
  await world.settleDebts()
  expect(await debts()).toMatchObject([{ state: 'debt' }])
  expect(await one.row()).toMatchObject({ state: 'live', versionLive: 2 })
  await world.settleDebts(deathAt('after destroyTemplate'))
  const [settling] = await db<
    { id: string }[]
  >`select id from job where state = 'running' and kind = 'settle-debt'`
  expect(settling).toBeDefined()
  await world.takeBack()
  await world.settleDebts()
  expect(await debts()).toMatchObject([{ state: 'undone' }])
  expect((await world.objects()).some((object) => object.ref === before)).toBe(false)
  expect(
    await db`select state from template_version where template_id = ${template.id}::uuid order by number`,
  ).toEqual([{ state: 'gone' }, { state: 'live' }])
})

test('C-19, C-20: objects of others under our names are not touched, in any folder, and are named', async () => {
  const { golden: one, images } = await golden()
  const { production, temp, old } = one.names
  const there = []
  for (const name of [production, temp, old])
    there.push(((await put(name, '/cloud')).json as { ref: string }).ref)
  await one.want(images.next)
  expect(await one.finish()).toMatchObject({ state: 'succeeded' })
  const stranger = ((await put(temp)).json as { ref: string }).ref
  await one.want(await world.image('3'))
  const { state, error } = await one.finish()
  expect([state, error]).toMatchObject([
    'failed',
    { code: 'template-name-taken', message: expect.stringContaining(stranger) },
  ])
  expect(await one.row()).toMatchObject({ state: 'conflict', reason: 'template-name-taken', versionLive: 2 })
  expect((await one.seen()).temp?.ref).toBe(stranger)
  const elsewhereNow = (await world.objects('/cloud')).map((object) => object.ref)
  expect(elsewhereNow).toEqual(expect.arrayContaining(there))
})

test('C-21: two templates cannot share a name on a platform', async () => {
  const { golden: one, images } = await golden()
  const place = { project: 'default', pool: 'local', host: '', network: '' }
  const same = {
    target: 'cloud',
    folder: goldenFolder,
    production: one.names.production,
    image: images.first,
  }
  const settings = { keepVersions: 2, graceSeconds: 600, allowDowngrade: false, by: 'test' }
  const second = db.begin((tx) => addTemplate(tx, { name: 'another', ...same, ...settings, place }))
  await expect(second).rejects.toThrow(/template_place/)
})

test('C-22: a worker that froze between the renames changes nothing when it wakes up', async () => {
  const { golden: one, images } = await golden()
  await one.want(images.next)
  const frozen = await one.turn(freezeAt('after renameTemplate'))
  await one.finish()
  const after = await world.objects()
  frozen.life.thaw()
  await frozen.end
  expect(await world.objects()).toEqual(after)
  await expectSwapped(db, one, images.next)
})

test('C-21: a job that somebody has sent beside the job of the template acts on nothing', async () => {
  const { golden: one, images } = await golden()
  await one.want(images.next)
  const before = await world.objects()
  const { id } = await one.row()
  const [sent] = await db.begin((tx) =>
    enqueue(tx, [
      {
        kind: 'swap-template',
        payload: { template_id: id },
        subject: { type: 'template', id },
        createdBy: 'test',
      },
    ]),
  )
  await world.run(sent?.id ?? '')
  expect(await jobOf(db, sent?.id ?? '')).toMatchObject({
    state: 'succeeded',
    result: { ended: 'another-job' },
  })
  expect(await world.objects()).toEqual(before)
  await one.finish()
  await expectSwapped(db, one, images.next)
})

test('C-25: the name is brought back before what was asked for is judged', async () => {
  const { golden: one, images } = await golden()
  await one.want(images.next)
  await one.turn(deathAt('before renameTemplate', 2))
  const old = await ref(one, 'old')
  await remove(await ref(one, 'temp'))
  await db`update image set state = 'failed' where id = ${images.next}::uuid`
  expect(await one.finish()).toMatchObject({ state: 'failed', error: { code: 'image-not-ready' } })
  expect(await one.seen()).toMatchObject({ production: { ref: old }, temp: undefined, old: undefined })
  expect(await one.row()).toMatchObject({ state: 'live', versionLive: 1 })
})

test('C-27: a template is not forgotten while a job is at it, and its name comes back either way', async () => {
  const { golden: one, images } = await golden()
  await one.want(images.next)
  await one.turn(deathAt('before renameTemplate', 2))
  const forget = { name: one.name, by: 'test', destroy: false, confirmed: undefined, check: () => undefined }
  await expect(db.begin((tx) => forgetTemplate(tx, forget))).rejects.toMatchObject({ code: 'template-busy' })
  await db`update template set deleted_at = now() where name = ${one.name}`
  await one.finish()
  expect((await one.seen()).production).toMatchObject({
    complete: true,
    owner: { 'drover.image': images.next },
  })
})

test('every row of the table is a case, or says why it is none', () => {
  const titles = [
    ...Object.keys(recovered),
    ...['C-3', 'C-9', 'C-11', 'C-12', 'C-23', 'C-19', 'C-20', 'C-21', 'C-22', 'C-25', 'C-27'],
    ...Object.keys(elsewhere),
  ]
  const rows = new Set(titles.map((title) => Number(/^C-(\d+)/.exec(title)?.[1])))
  expect([...rows].sort((a, b) => a - b)).toEqual(Array.from({ length: 27 }, (_, at) => at + 1))
})
