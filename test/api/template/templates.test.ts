import { beforeEach, describe, expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { eventTypes } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver, tester, tokensFor } from '../setup.ts'
import { addTarget, askTemplate, emptyTemplates, failSwap, finishSwap, importImage } from './template-rows.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } }))
const get = (path: string) => call('GET', path)
const headers = { 'if-match': '*' }
const remove = (query = '') => call('DELETE', `/v1/templates/debian${query}`, { headers })
const verb = (name: string, json: unknown = {}) => call('POST', `/v1/templates/debian/:${name}`, { json })
const update = (image: string) => verb('update', { image })
const jobs = () => db`select id, state from job where kind = 'swap-template' order by id`
const shown = async () => (await get('/v1/templates/debian')).body
const versionsOf = async () =>
  (await get('/v1/templates/debian/versions')).body.items.map(({ number, image, state, cause }) => ({
    ...{ number, image, state, cause },
  }))

beforeEach(async () => {
  await emptyTemplates(db)
  await importImage(db, call, 'debian-13', '13.0')
})

describe('a template', () => {
  test('is stored with the job that makes its name point at the image, and tells of it', async () => {
    const made = await askTemplate(call, { keep_versions: 3, pool: 'fast' })
    expect([made.status, made.headers.get('location')], made.text).toEqual([202, '/v1/templates/debian'])
    expect(made.body).toMatchObject({
      ...{ name: 'debian', target: 'oslo', folder: 'golden', production: 'debian', state: 'swapping' },
      ...{ reason: 'asked', message: 'Version 1 is wanted: debian-13.', error: null, pool: 'fast' },
      ...{ image: 'debian-13', image_live: null, version_live: null, version_wanted: 1 },
      ...{
        keep_versions: 3,
        grace_seconds: 600,
        allow_downgrade: false,
        job_state: 'ready',
        created_by: tester,
      },
    })
    const [job] = await db`select id, payload, subject_id, lane, tokens from job where kind = 'swap-template'`
    expect(job).toEqual({
      ...{ id: made.body.job_id, payload: { template_id: made.body.id }, subjectId: made.body.id },
      ...{ lane: 'templates/oslo', tokens: ['target/oslo'] },
    })
    expect(await shown()).toEqual(made.body)
    expect((await get('/v1/templates?target=oslo&image=debian-13')).body.items).toEqual([made.body])
    expect((await get('/v1/templates?state=live')).body.items).toEqual([])
    expect((await get('/v1/images/debian-13')).body.templates).toEqual(['debian'])
    await finishSwap(db, 'debian')
    expect(await shown()).toMatchObject({ state: 'live', version_live: 1, image_live: 'debian-13' })
    const told = (await eventTypes(db)).filter((type) => type.startsWith('template.'))
    expect(told).toEqual(['template.created', 'template.swapping', 'template.live'])
  })

  test('with a key is made once, and neither its name nor its place is taken twice', async () => {
    const json = { name: 'debian', target: 'oslo', image: 'debian-13' }
    const keyed = () => call('POST', '/v1/templates', { json, headers: { 'idempotency-key': 'template-1' } })
    const [one, two] = [await keyed(), await keyed()]
    expect([two.status, two.body]).toEqual([202, one.body])
    expect((await jobs()).length).toBe(1)
    const name = await askTemplate(call)
    expect([name.status, name.body.code, name.body.field]).toEqual([409, 'name-taken', 'name'])
    const place = await askTemplate(call, { name: 'other', folder: '', production: 'debian' })
    expect([place.status, place.body.code, place.body.field]).toEqual([
      409,
      'template-place-taken',
      'production',
    ])
    expect((await askTemplate(call, { name: 'deep', folder: '/cloud/golden' })).status).toBe(202)
    for (const folder of ['/cloud/golden/', 'cloud//golden'])
      expect(await askTemplate(call, { name: 'again', folder, production: 'deep' })).toMatchObject({
        status: 409,
        body: { code: 'template-place-taken' },
      })
    await addTarget(db, 'lima')
    expect(
      (await askTemplate(call, { name: 'lima', target: 'lima', folder: '', production: 'debian' })).status,
    ).toBe(202)
    expect((await askTemplate(call, { name: 'golden', production: 'debian' })).status).toBe(202)
  })

  test('has settings that are changed by who has read them', async () => {
    await askTemplate(call)
    const tag = (await get('/v1/templates/debian')).headers.get('etag') ?? ''
    const change = (json: unknown, ifMatch?: string) =>
      call('PATCH', '/v1/templates/debian', {
        json,
        headers: ifMatch === undefined ? {} : { 'if-match': ifMatch },
      })
    expect((await change({ keep_versions: 5 })).body.code).toBe('if-match-required')
    const changed = await change({ keep_versions: 5, allow_downgrade: true, host: 'node-2' }, tag)
    expect(changed.body).toMatchObject({
      ...{ keep_versions: 5, grace_seconds: 600, allow_downgrade: true, host: 'node-2', pool: '' },
    })
    expect((await change({ keep_versions: 6 }, tag)).status).toBe(412)
    expect((await change({ keep_versions: 6 }, changed.headers.get('etag') ?? '')).body.keep_versions).toBe(6)
    expect((await change({ name: 'x' }, '*')).body.code).toBe('validation-failed')
    expect(await eventTypes(db)).toContain('template.changed')
  })

  test.each([
    ['no image', { image: undefined }, 'image'],
    ['a name with a blank', { name: 'a b' }, 'name'],
    ['a name of ours', { production: 'drv-tmp-0123456789ab' }, 'production'],
    ['a name that is too long', { production: 'x'.repeat(81) }, 'production'],
    ['too many versions', { keep_versions: 21 }, 'keep_versions'],
    ['a grace of a month', { grace_seconds: 2_592_000 }, 'grace_seconds'],
    ['a field that is not known', { soon: true }, 'soon'],
  ] as const)('is not made with %s, and the field is named', async (_, change, field) => {
    const { status, body, text } = await askTemplate(call, change)
    expect([status, body.code, body.errors?.[0]?.field], text).toEqual([422, 'validation-failed', field])
  })

  test('needs an image and a target that are there', async () => {
    const image = await askTemplate(call, { image: 'debian-99' })
    expect([image.status, image.body.code, image.body.field]).toEqual([404, 'not-found', 'image'])
    const target = await askTemplate(call, { target: 'lima' })
    expect([target.status, target.body.code]).toEqual([404, 'target-absent'])
    for (const path of ['', '/versions']) expect((await get(`/v1/templates/none${path}`)).status).toBe(404)
    expect((await call('POST', '/v1/templates/none/:recover')).status).toBe(404)
  })

  test('is changed by operators, and looked at by viewers', async () => {
    const { viewer } = await tokensFor(db)
    await askTemplate(call)
    const json = { image: 'debian-13' }
    for (const [method, path] of [
      ['POST', ''],
      ['PATCH', '/debian'],
      ['DELETE', '/debian'],
      ...['update', 'rollback', 'recover', 'plan'].map((name) => ['POST', `/debian/:${name}`] as const),
    ] as const)
      expect([
        path,
        (await call(method, `/v1/templates${path}`, { json, headers, as: viewer })).status,
      ]).toEqual([...[path, 403]])
    for (const path of ['', '/debian', '/debian/versions'])
      expect((await call('GET', `/v1/templates${path}`, { as: viewer })).status).toBe(200)
  })
})

describe('an update', () => {
  beforeEach(async () => {
    await askTemplate(call)
    await finishSwap(db, 'debian')
    await importImage(db, call, 'debian-14', '14.0')
  })

  test('is a new version and a new job, once however often it is asked for', async () => {
    const asked = await update('debian-14')
    expect(asked.status, asked.text).toBe(202)
    expect(asked.body).toMatchObject({
      ...{
        state: 'swapping',
        image: 'debian-14',
        image_live: 'debian-13',
        version_live: 1,
        version_wanted: 2,
      },
      message: 'Version 2 is wanted: debian-14.',
    })
    expect((await update('debian-14')).body).toEqual(asked.body)
    expect((await jobs()).map(({ state }) => state)).toEqual(['succeeded', 'ready'])
    await finishSwap(db, 'debian')
    expect((await update('debian-14')).body).toMatchObject({ state: 'live', version_wanted: 2 })
    expect((await jobs()).length).toBe(2)
    expect(await versionsOf()).toEqual([
      { number: 2, image: 'debian-14', state: 'live', cause: 'update' },
      { number: 1, image: 'debian-13', state: 'kept', cause: 'create' },
    ])
    expect((await get('/v1/templates/debian/versions?limit=1')).body.items).toMatchObject([
      { swap_ms: 900, gap_ms: 40, by: tester, image_version: '14.0' },
    ])
    const { next_cursor: next } = (await get('/v1/templates/debian/versions?limit=1')).body
    expect((await get(`/v1/templates/debian/versions?cursor=${next}`)).body.items).toMatchObject([
      { number: 1 },
    ])
  })

  test('while another one is under way takes its place, and the job that waits looks at once', async () => {
    await importImage(db, call, 'debian-15', '15.0')
    const { body } = await update('debian-14')
    await db`update job set state = 'waiting', wait_reason = 'image', wait_since = now(),
      wait_until = now() + interval '1 hour' where id = ${String(body.job_id)}::uuid`
    const newer = await update('debian-15')
    expect(newer.body).toMatchObject({ version_wanted: 3, job_id: body.job_id, job_state: 'ready' })
    expect((await versionsOf()).map(({ state }) => state)).toEqual(['wanted', 'withdrawn', 'live'])
    const [withdrawn] = await db`select error from template_version where number = 2`
    expect(withdrawn?.error).toBeNull()
  })

  test('that a pause holds up says by whom', async () => {
    await update('debian-14')
    await call('POST', '/v1/pauses', { json: { scope: 'lane', name: 'templates/oslo', reason: 'lunch' } })
    const message = `${tester} paused the lane templates/oslo: lunch`
    expect(await shown()).toMatchObject({ state: 'swapping', message })
    await call('DELETE', '/v1/pauses/lane/templates%2Foslo')
    expect(await shown()).toMatchObject({ message: 'Version 2 is wanted: debian-14.' })
  })

  test('that has failed says why, and the same image is refused after three of them in a row', async () => {
    for (const number of [2, 3, 4]) {
      expect((await update('debian-14')).body.version_wanted).toBe(number)
      await failSwap(db, 'debian')
      expect(await shown()).toMatchObject({ reason: 'job-failed', message: 'The target is full.' })
    }
    const refused = await update('debian-14')
    expect([refused.status, refused.body.code]).toEqual([409, 'template-hot-loop'])
    expect(refused.body.detail).toContain('3 times in a row')
    const failed = (await get('/v1/templates/debian/versions')).body.items.filter(
      ({ error }) => error !== null,
    )
    expect(failed.length).toBe(2)
    // A person who has mended the cause goes on with the same version; another image is free.
    expect((await verb('recover')).body).toMatchObject({ version_wanted: 4, job_state: 'ready' })
    await failSwap(db, 'debian')
    await importImage(db, call, 'debian-15', '15.0')
    expect((await update('debian-15')).body.version_wanted).toBe(5)
    await failSwap(db, 'debian')
    expect((await update('debian-14')).body.version_wanted).toBe(6)
  })

  test('to an older version of the same product needs allow_downgrade, and a rollback does not', async () => {
    await importImage(db, call, 'debian-12', '12.9')
    const refused = await update('debian-12')
    expect([refused.status, refused.body.code]).toEqual([409, 'template-downgrade'])
    expect(refused.body.detail).toBe('debian-12 holds version 12.9, and debian points at 13.0 now.')
    await call('PATCH', '/v1/templates/debian', { json: { allow_downgrade: true }, headers })
    expect((await update('debian-12')).status).toBe(202)
    await finishSwap(db, 'debian')
    await call('PATCH', '/v1/templates/debian', { json: { allow_downgrade: false }, headers })
    await update('debian-14')
    await finishSwap(db, 'debian')
    expect((await verb('rollback')).body).toMatchObject({ image: 'debian-12', version_wanted: 4 })
  })

  test('is planned without a change, with why it would be refused', async () => {
    const before = await shown()
    const planned = await verb('plan', { image: 'debian-14' })
    expect(planned.status, planned.text).toBe(200)
    expect(planned.body).toMatchObject({ image: 'debian-14', bytes: 0, refused: null })
    const steps = (body: typeof planned.body) => (body.steps as { step: string }[]).map(({ step }) => step)
    expect(steps(planned.body)).toEqual(['validate', 'stage', 'retire', 'promote', 'shelve-old', 'done'])
    await db`update image_replica set state = 'gone', gone_at = now() where template_id is null`
    const uploaded = await verb('plan', { image: 'debian-14' })
    expect([uploaded.body.bytes, steps(uploaded.body)[1]]).toEqual([1_048_576, 'import'])
    expect(steps((await verb('plan', { image: 'debian-13' })).body)).toEqual(['done'])
    await importImage(db, call, 'debian-12', '12.9')
    expect((await verb('plan', { image: 'debian-12' })).body.refused).toMatchObject({
      code: 'template-downgrade',
    })
    expect(await shown()).toEqual(before)
  })
})

describe('a rollback', () => {
  beforeEach(async () => {
    await askTemplate(call)
    await finishSwap(db, 'debian')
    await importImage(db, call, 'debian-14', '14.0')
  })

  test('goes to what was live before, or to the version that is named, as a new version', async () => {
    await update('debian-14')
    await finishSwap(db, 'debian')
    expect((await verb('rollback')).body).toMatchObject({ image: 'debian-13', version_wanted: 3 })
    await finishSwap(db, 'debian')
    expect((await verb('rollback', { version: 2 })).body).toMatchObject({
      image: 'debian-14',
      version_wanted: 4,
    })
    expect((await versionsOf()).map(({ cause }) => cause)).toEqual([
      'rollback',
      'rollback',
      'update',
      'create',
    ])
  })

  test('of what did not come to be live keeps what is live', async () => {
    await update('debian-14')
    await failSwap(db, 'debian')
    expect((await verb('rollback')).body).toMatchObject({ image: 'debian-13', version_wanted: 3 })
  })

  test('needs a version that was live', async () => {
    const none = await verb('rollback')
    expect([none.status, none.body.code, none.body.field]).toEqual([409, 'version-unusable', 'version'])
    expect((await verb('rollback', { version: 9 })).body.detail).toContain('is not known')
    await update('debian-14')
    expect((await verb('rollback', { version: 2 })).body.detail).toContain('was never live')
    expect((await verb('rollback', { version: 0 })).status).toBe(422)
  })
})

describe('a forgotten template', () => {
  beforeEach(async () => {
    await askTemplate(call)
  })

  test('has no job any more, and leaves what is on the platform where it is', async () => {
    const busy = await remove()
    expect([busy.status, busy.body.code]).toEqual([409, 'template-busy'])
    await finishSwap(db, 'debian')
    expect((await call('DELETE', '/v1/templates/debian')).status).toBe(428)
    expect((await remove()).status).toBe(204)
    expect((await get('/v1/templates/debian')).status).toBe(404)
    expect((await get('/v1/templates')).body.items).toEqual([])
    expect((await db`select from job where kind = 'remove-replica'`).length).toBe(0)
    expect(await eventTypes(db)).toContain('template.deleted')
    expect((await askTemplate(call)).status).toBe(202)
  })

  test('takes what it had along when as much is confirmed as there is', async () => {
    await finishSwap(db, 'debian')
    const asked = await remove('?destroy=true')
    expect([asked.status, asked.body.code, asked.body.matched]).toEqual([409, 'destroy-not-confirmed', 1])
    expect((await get('/v1/templates/debian')).status).toBe(200)
    const done = await remove('?destroy=true&confirm_destroy=1')
    expect([done.status, (done.body.jobs as string[]).length], done.text).toEqual([202, 1])
    const again = await askTemplate(call)
    expect([again.status, again.body.code]).toEqual([409, 'template-busy'])
    await db`update image_replica set state = 'gone', gone_at = now()`
    expect((await askTemplate(call)).status).toBe(202)
  })
})

test('the job of a template that has another one by now is not run again', async () => {
  const { job_id: first } = (await askTemplate(call)).body
  await failSwap(db, 'debian')
  expect((await verb('recover')).body.job_id).not.toBe(first)
  const moot = await call('POST', `/v1/jobs/${String(first)}/:retry`)
  expect([moot.status, moot.body.code]).toEqual([409, 'job-moot'])
})

test('a target is not removed while a template or an image is on it', async () => {
  await askTemplate(call)
  await finishSwap(db, 'debian')
  const refused = () => call('DELETE', '/v1/targets/oslo', { headers })
  await importImage(db, call, 'debian-14')
  const template = await refused()
  expect([template.status, template.body.code]).toEqual([409, 'site-in-use'])
  expect(template.body.detail).toContain('1 template is on it: debian')
  expect((await remove()).status).toBe(204)
  const image = await refused()
  expect([image.status, image.body.code]).toEqual([409, 'site-in-use'])
  expect(image.body.detail).toContain('1 image has copies on it: debian-14')
  await call('DELETE', '/v1/images/debian-14', { headers })
  expect((await refused()).status).toBe(204)
})
