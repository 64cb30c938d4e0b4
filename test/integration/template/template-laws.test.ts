import { expect, test } from 'vitest'
import { addImage } from '../../../src/template/ask/add-image.ts'
import { addTemplate } from '../../../src/template/ask/add-template.ts'
import { forgetTemplate } from '../../../src/template/ask/forget-template.ts'
import { jobOf } from '../../support/ledger.ts'
import { redrive, requestCancel } from '../../support/ledger-verbs.ts'
import { createSwapLab, expectSwapped, type Golden, goldenFolder } from '../../support/swapped-templates.ts'

/** What a person, a stranger or a second row may do to a template that is at rest. */

const world = await createSwapLab()
const { db } = world
const place = { project: 'default', pool: 'local', host: '', network: '' }
const settings = { keepVersions: 2, graceSeconds: 600, allowDowngrade: true, by: 'test' }

/** A template that is live with its second image. */
const swapped = async (over: { keepVersions?: number } = {}) => {
  const [first, next] = [await world.image('1'), await world.image('2')]
  const golden = await world.golden(first, over)
  await golden.finish()
  await golden.want(next)
  expect(await golden.finish()).toMatchObject({ state: 'succeeded' })
  return { golden, first, next }
}

const refsOf = async (image: string) =>
  (await world.objects()).filter(({ owner }) => owner['drover.image'] === image).map(({ ref }) => ref)

const forget = (golden: Golden) =>
  db.begin((tx) =>
    forgetTemplate(tx, {
      ...{ name: golden.name, by: 'test', destroy: false, confirmed: undefined, check: () => undefined },
    }),
  )

const addAt = (golden: Golden, image: string, folder = goldenFolder) =>
  db.begin((tx) =>
    addTemplate(tx, {
      ...{ ...settings, name: `${golden.name}-2`, target: 'cloud', folder, image, place },
      production: golden.names.production,
    }),
  ) as Promise<{ readonly id: string; readonly jobId: string | null }>

test('a version that is kept by now is not destroyed for a debt of before', async () => {
  const { golden, first } = await swapped({ keepVersions: 0 })
  const [ref] = await refsOf(first)
  await db`update template set keep_versions = 1 where name = ${golden.name}`
  await world.settleDebts()
  expect(await refsOf(first)).toEqual([ref])
  const { id } = await golden.row()
  expect(await db`select state from effect where kind = 'template-removal' and subject_id = ${id}`).toEqual([
    { state: 'undone' },
  ])
})

test('the only copy of a kept version stays where its twin is but a row', async () => {
  const { golden, first, next } = await swapped()
  const [lost] = await refsOf(first)
  await world.site.done(`DELETE /instances/${lost ?? ''}`)
  await db`update template set allow_downgrade = true where name = ${golden.name}`
  for (const image of [first, next]) {
    await golden.want(image)
    expect(await golden.finish()).toMatchObject({ state: 'succeeded' })
  }
  const there = await refsOf(first)
  expect(there).toHaveLength(1)
  await world.settleDebts()
  expect(await refsOf(first)).toEqual(there)
  expect(
    await db`select ref, template_id from image_replica where image_id = ${first}::uuid and state <> 'gone'`,
  ).toEqual([{ ref: there[0], templateId: null }])
  await expectSwapped(db, golden, next)
})

test('what another template has under the name, by another spelling of its folder, is not touched', async () => {
  const { golden, next } = await swapped()
  const before = await world.objects()
  const other = await addAt(golden, await world.image('3'), '')
  await world.run(other.jobId ?? '')
  expect(await jobOf(db, other.jobId ?? '')).toMatchObject({
    state: 'failed',
    error: { code: 'template-name-taken' },
  })
  expect(await world.objects()).toEqual(before)
  await expectSwapped(db, golden, next)
})

test('a place is free for another template when nothing of the forgotten one acts there', async () => {
  const { golden } = await swapped()
  const wanted = await world.image('3')
  await golden.want(wanted)
  await db`update image set state = 'failed' where id = ${wanted}::uuid`
  expect(await golden.finish()).toMatchObject({ state: 'failed' })
  const old = await golden.row()
  await forget(golden)
  const owe = (state: string) => db`
    update effect set state = ${state}, next_try_at = ${state === 'debt' ? db`now()` : null}
    where job_id = ${old.jobId}::uuid and kind = 'template-swap'`
  await owe('debt')
  const fourth = await world.image('4')
  await expect(addAt(golden, fourth)).rejects.toMatchObject({ code: 'template-busy' })
  await owe('undone')
  await addAt(golden, fourth)
  // What is forgotten does not come back either.
  expect(await redrive(db, old.jobId ?? '', { by: 'test' })).toEqual({ outcome: 'template-moved-on' })
})

test('a swap does not wait for an image whose import was canceled before it began', async () => {
  const { golden } = await swapped()
  const source = { kind: 'file', path: '/none.ova' } as const
  const { id } = (await db.begin((tx) =>
    addImage(tx, {
      ...{ name: `${golden.name}-image`, target: 'cloud', folder: goldenFolder, place, source, by: 'test' },
      ...{ expectedDigest: null, requireManifest: false },
    }),
  )) as { readonly id: string }
  await golden.want(id)
  const [{ jobId } = { jobId: '' }] = await db<
    { jobId: string }[]
  >`select job_id from image where id = ${id}::uuid`
  await requestCancel(db, jobId, { by: 'test', reason: 'not wanted' })
  expect(await golden.finish()).toMatchObject({ state: 'failed', error: { code: 'image-not-ready' } })
})
