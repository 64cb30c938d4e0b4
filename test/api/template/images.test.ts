import { beforeEach, describe, expect, test } from 'vitest'
import { createDatabase } from '../../support/postgres.ts'
import { eventTypes } from '../inventory/inventory-rows.ts'
import { clientOf, depsOver, tester, tokensFor } from '../setup.ts'
import {
  addTarget,
  askImage,
  askTemplate,
  emptyTemplates,
  endJob,
  failSwap,
  finishSwap,
  importImage,
} from './template-rows.ts'

const { db } = await createDatabase()
const call = clientOf(depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } }))
const get = (path: string) => call('GET', path)
const remove = (path: string, ifMatch = '*') => call('DELETE', path, { headers: { 'if-match': ifMatch } })

beforeEach(() => emptyTemplates(db))

describe('an image', () => {
  test('is stored with the job that imports it, shown, listed and deleted, and tells of it', async () => {
    const made = await askImage(call, { sha256: 'A'.repeat(64), folder: 'golden', pool: 'fast' })
    expect(made.status, made.text).toBe(202)
    expect(made.headers.get('location')).toBe(`/v1/images/${made.body.id}`)
    expect(made.body).toMatchObject({
      ...{ name: 'debian-13', state: 'importing', digest: null, facts: null, verified: null, error: null },
      ...{ expected_digest: 'a'.repeat(64), targets: ['oslo'], templates: [], created_by: tester },
      source: { kind: 'url', url: 'https://images.example.org/debian.ova' },
      replicas: [
        { target: 'oslo', folder: 'golden', pool: 'fast', ref: null, state: 'importing', template: null },
      ],
    })
    const [job] = await db`select kind, payload, subject_type, lane, tokens from job`
    const [replica] = made.body.replicas as { id: string }[]
    expect(job).toEqual({
      ...{ kind: 'import-ova', payload: { image_id: made.body.id, replica_id: replica?.id } },
      ...{ subjectType: 'image', lane: 'templates/oslo', tokens: ['target-imports/oslo'] },
    })
    const shown = await get('/v1/images/debian-13')
    expect(shown.body).toEqual(made.body)
    expect((await get(`/v1/images/${made.body.id}`)).body).toEqual(made.body)
    expect((await get('/v1/images?target=oslo&name=BIAN')).body.items).toMatchObject([{ name: 'debian-13' }])
    expect((await get('/v1/images?target=lima')).body.items).toEqual([])
    const busy = await remove('/v1/images/debian-13')
    expect([busy.status, busy.body.code, busy.body.blocker]).toEqual([409, 'image-in-use', made.body.job_id])
    await endJob(db, made.body.job_id, 'canceled')
    expect((await remove('/v1/images/debian-13', '"99"')).status).toBe(412)
    expect((await call('DELETE', '/v1/images/debian-13')).status).toBe(428)
    expect((await remove('/v1/images/debian-13', shown.headers.get('etag') ?? '')).status).toBe(204)
    expect((await get('/v1/images/debian-13')).status).toBe(404)
    expect((await remove('/v1/images/debian-13')).status).toBe(404)
    // A tombstone: its id is never used again.
    expect((await get(`/v1/images/${made.body.id}`)).body).toMatchObject({ state: 'deleted', replicas: [] })
    expect((await get('/v1/images')).body.items).toEqual([])
    expect((await get('/v1/images?state=deleted')).body.items).toMatchObject([{ id: made.body.id }])
    const told = (await eventTypes(db)).filter((type) => type.startsWith('image.'))
    expect(told).toEqual(['image.created', 'image.deleted'])
  })

  test('with a key is imported once, and a name is taken until its image is deleted', async () => {
    const json = { name: 'debian-13', target: 'oslo', file: '/srv/ova/debian.ova' }
    const headers = { 'idempotency-key': 'image-1' }
    const [one, two] = [
      await call('POST', '/v1/images', { json, headers }),
      await call('POST', '/v1/images', { json, headers }),
    ]
    expect([two.status, two.headers.get('idempotency-replayed')]).toEqual([202, 'true'])
    expect(two.body).toEqual(one.body)
    expect((await db`select from job`).length).toBe(1)
    const taken = await askImage(call)
    expect([taken.status, taken.body.code, taken.body.field]).toEqual([409, 'name-taken', 'name'])
    await endJob(db, one.body.job_id, 'canceled')
    expect((await remove('/v1/images/debian-13')).status).toBe(204)
    expect((await askImage(call)).status).toBe(202)
  })

  test('whose job has failed is shown as failed with the reason, and as importing when the job runs again', async () => {
    const { body } = await askImage(call)
    await endJob(db, body.job_id, 'failed', {
      ...{
        code: 'ova-truncated',
        class: 'permanent',
        message: 'The archive is cut short.',
        remedy: 'Send it whole.',
      },
    })
    const failed = (await get('/v1/images/debian-13')).body
    expect(failed).toMatchObject({ state: 'failed', error: { code: 'ova-truncated' } })
    expect((await get('/v1/images?state=failed')).body.items).toMatchObject([{ name: 'debian-13' }])
    const refused = await askTemplate(call)
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([409, 'image-not-ready', 'image'])
    expect((await call('POST', `/v1/jobs/${String(body.job_id)}/:retry`)).status).toBe(202)
    expect((await get('/v1/images/debian-13')).body).toMatchObject({ state: 'importing', error: null })
    await endJob(db, body.job_id, 'failed')
    expect((await remove('/v1/images/debian-13')).status).toBe(204)
    const moot = await call('POST', `/v1/jobs/${String(body.job_id)}/:retry`)
    expect([moot.status, moot.body.code]).toEqual([409, 'job-moot'])
  })

  test('shows an address without its query, which may be signed', async () => {
    const url = 'https://images.example.org/debian.ova?X-Signature=planted'
    const { text } = await askImage(call, { url })
    expect(text).not.toContain('planted')
    expect((await get('/v1/images/debian-13')).text).not.toContain('planted')
    const [row] = await db`select source ->> 'url' as url from image`
    expect(row?.url).toBe(url)
  })
})

const wrong: readonly (readonly [what: string, change: Record<string, unknown>, field: string])[] = [
  ['no name', { name: undefined }, 'name'],
  ['a name with a blank', { name: 'a b' }, 'name'],
  ['no target', { target: undefined }, 'target'],
  ['neither a url nor a file', { url: undefined }, 'url'],
  ['a url and a file', { file: '/srv/a.ova' }, 'url'],
  ['a url over plain http', { url: 'http://images.example.org/a.ova' }, 'url'],
  ['a url with a password', { url: 'https://a:b@images.example.org/a.ova' }, 'url'],
  ['a url of the cloud itself', { url: 'https://169.254.169.254/a.ova' }, 'url'],
  ['a url that is none', { url: 'a.ova' }, 'url'],
  ['a relative file', { url: undefined, file: 'a.ova' }, 'file'],
  ['a digest that is too short', { sha256: 'abc' }, 'sha256'],
  ['a pin of a file', { url: undefined, file: '/srv/a.ova', fingerprint: 'a'.repeat(64) }, 'fingerprint'],
  ['an authority that is none', { ca: 'no certificate' }, 'ca'],
  ['a flag that is none', { require_manifest: 'yes' }, 'require_manifest'],
  ['a field that is not known', { soon: true }, 'soon'],
]

describe('what is asked of images', () => {
  test.each(wrong)('with %s is refused', async (_, change, field) => {
    const { status, body, text } = await askImage(call, change)
    expect([status, body.code], text).toEqual([422, 'validation-failed'])
    expect(body.errors.map((error) => error.field)).toContain(field)
    expect((await db`select from image`).length).toBe(0)
  })

  test('needs a target that is there and has templates', async () => {
    const absent = await askImage(call, { target: 'lima' })
    expect([absent.status, absent.body.code, absent.body.field]).toEqual([404, 'target-absent', 'target'])
    await addTarget(db, 'lima', ['inventory', 'power'])
    const incapable = await askImage(call, { target: 'lima' })
    expect([incapable.status, incapable.body.code]).toEqual([409, 'target-incapable'])
    expect(incapable.body.detail).toContain('templates and import-image')
    expect((await db`select from job`).length).toBe(0)
  })

  test('needs an operator, and a viewer may look', async () => {
    const { viewer, operator } = await tokensFor(db)
    const json = { name: 'debian-13', target: 'oslo', file: '/srv/a.ova' }
    expect((await call('POST', '/v1/images', { json, as: viewer })).status).toBe(403)
    expect((await call('POST', '/v1/images', { json, as: operator })).status).toBe(202)
    expect((await call('GET', '/v1/images/debian-13', { as: viewer })).status).toBe(200)
    const headers = { 'if-match': '*' }
    expect((await call('DELETE', '/v1/images/debian-13', { headers, as: viewer })).status).toBe(403)
  })
})

describe('an image that a template refers to', () => {
  test('is not deleted, and the refusal says by what, until nothing refers to it', async () => {
    await importImage(db, call, 'debian-13')
    await importImage(db, call, 'debian-14', '2.0')
    await askTemplate(call)
    const refusedBy = async (words: string) => {
      const { status, body } = await remove('/v1/images/debian-13')
      expect([status, body.code]).toEqual([409, 'image-in-use'])
      expect(body.detail).toContain(words)
    }
    await refusedBy('debian is to point at it (version 1)')
    await finishSwap(db, 'debian')
    await refusedBy('debian points at it (version 1)')
    expect((await get('/v1/images/debian-13')).body.used_by).toEqual([
      { template: 'debian', use: 'live', version: 1 },
    ])
    await call('POST', '/v1/templates/debian/:update', { json: { image: 'debian-14' } })
    await finishSwap(db, 'debian')
    await refusedBy('debian keeps it (version 1)')
    await db`update template_version set state = 'gone' where number = 1`
    await db`update image_replica r set template_id = t.id from template t, image i
      where i.id = r.image_id and i.name = 'debian-13'`
    await refusedBy('debian still has it under another name')
    expect((await call('DELETE', '/v1/templates/debian', { headers: { 'if-match': '*' } })).status).toBe(204)
    expect((await remove('/v1/images/debian-13')).status).toBe(204)
  })

  test('may be wanted again after a swap to it has failed, and is not deleted meanwhile', async () => {
    await importImage(db, call, 'debian-13')
    await askTemplate(call)
    await failSwap(db, 'debian')
    expect((await remove('/v1/images/debian-13')).body.code).toBe('image-in-use')
  })
})

describe('copies of a deleted image', () => {
  test('stay on their targets, and are forgotten', async () => {
    await importImage(db, call, 'debian-13')
    expect((await remove('/v1/images/debian-13')).status).toBe(204)
    expect(await db`select state from image_replica`).toEqual([{ state: 'gone' }])
    expect((await db`select from job where kind = 'remove-replica'`).length).toBe(0)
  })

  test('are destroyed by jobs when as many are confirmed as there are', async () => {
    await importImage(db, call, 'debian-13')
    for (const wanted of ['destroy=true', 'destroy=true&confirm_destroy=2']) {
      const asked = await remove(`/v1/images/debian-13?${wanted}`)
      expect([asked.status, asked.body.code, asked.body.matched]).toEqual([409, 'destroy-not-confirmed', 1])
      expect(asked.body.sample).toEqual(['debian-13 on oslo'])
    }
    const done = await remove('/v1/images/debian-13?destroy=true&confirm_destroy=1')
    expect(done.status, done.text).toBe(202)
    const [job] = await db`
      select j.id, j.payload ->> 'replica_id' = r.id::text as same, r.state
      from job j, image_replica r where j.kind = 'remove-replica'`
    expect(job).toEqual({ id: (done.body.jobs as string[])[0], same: true, state: 'removing' })
  })
})
