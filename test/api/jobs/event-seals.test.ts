import { generateKeyPairSync } from 'node:crypto'
import { once as happens } from 'node:events'
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { insertSigningKey } from '../../../db/queries/seals/signing-keys.ts'
import { installationKey, rotateSigningKey } from '../../../src/certificate/installation-key.ts'
import { keyIdOf, publicPem } from '../../../src/certificate/signing.ts'
import { runCli } from '../../../src/cli/run.ts'
import { systemClock } from '../../../src/clock.ts'
import { handOutHead } from '../../../src/ledger/seals/hand-out-heads.ts'
import { createHttpServer } from '../../../src/roles/api.ts'
import { signHead } from '../../../src/seal/seal-head.ts'
import { adminToken } from '../../support/admin-token.ts'
import { sealAll, writeEvents } from '../../support/events.ts'
import { createDatabase } from '../../support/postgres.ts'
import { tempDir } from '../../support/temp.ts'
import { clientOf, depsOver, letTesterIn, log, sealer } from '../setup.ts'

const setUp = async () => {
  const { db } = await createDatabase()
  for (const reason of ['one', 'two', 'three']) await writeEvents(db, [{ reason }])
  await sealAll(db, { eventsMax: 1, sealer })
  const signingKey = (tx: Parameters<typeof installationKey>[0]) => installationKey(tx, sealer)
  const handOut = () => handOutHead({ db, sealer, signingKey, clock: systemClock, log, by: 'test' }, {})
  return { db, handOut, call: clientOf(depsOver(db)) }
}

const cutOff = async (db: Db): Promise<void> => {
  await db`delete from event where xid >= (select from_xid from event_seal where seq = 3)`
  await db`delete from event_seal where seq = 3`
}

test('the head that was handed out last is shown, and a check that takes it finds a tail that was cut off', async () => {
  const { db, handOut, call } = await setUp()
  expect((await call('GET', '/v1/events/seals')).body).toMatchObject({ head: null, newest: { seq: 3 } })
  const head = await handOut()
  const shown = await call('GET', '/v1/events/seals')
  expect(shown.body).toMatchObject({
    head: { line: head?.line, seq: 3, key_id: head?.keyId },
    newest: { seq: 3, hash: head?.hash },
    kept_days_min: 30,
  })
  const checked = await call('GET', `/v1/events/:verify?head=${head?.line}&kept_days=365`)
  expect(checked.body).toMatchObject({ ok: true, accepted: null })
  expect(String(checked.body.not_shown)).not.toMatch(/cut-off/)
  await cutOff(db)
  const without = await call('GET', '/v1/events/:verify')
  expect(without.body.ok).toBe(true)
  expect(String(without.body.not_shown)).toMatch(/cut-off tail cannot be seen without a noted head/)
  const found = await call('GET', `/v1/events/:verify?head=${head?.line}`)
  expect(found.body).toMatchObject({ ok: false, first_broken: { seq: 3 } })
})

test('a noted head whose signature or key is not ours is refused by its field', async () => {
  const { db, handOut, call } = await setUp()
  const head = await handOut()
  const refusal = async (line: string) => {
    const { status, body } = await call('GET', `/v1/events/:verify?head=${line}`)
    return [status, body.field, body.detail]
  }
  const altered = head?.line.replace('drover-head-1:3:', 'drover-head-1:2:') ?? ''
  expect(await refusal(altered)).toEqual([
    422,
    'head',
    expect.stringMatching(/signature is not that of its key/),
  ])
  const pair = generateKeyPairSync('ed25519')
  const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' })
  const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'der' })
  const id = keyIdOf(publicKey)
  const forged = signHead({ seq: 2, hash: head?.hash ?? '', atMs: Date.now() }, { id, privateKey })
  expect(await refusal(forged.line)).toEqual([
    422,
    'head',
    expect.stringMatching(/no key of this installation/),
  ])
  await db.begin((tx) =>
    insertSigningKey(tx, {
      ...{ id, publicKey, privateKey: Buffer.from('not sealed by us') },
      ...{ follows: null, vouched: null },
    }),
  )
  const doubted = await call('GET', `/v1/events/:verify?head=${forged.line}`)
  expect(doubted.body.ok).toBe(false)
  expect(String(doubted.body.not_shown)).toMatch(/known from the database alone/)
})

test('events cannot be kept for less than the floor, which stands outside the database', async () => {
  const { call } = await setUp()
  const put = (value: number) =>
    call('PUT', '/v1/settings/retention-events-days', { json: { value }, headers: { 'if-match': '"0"' } })
  const refused = await put(29)
  expect([refused.status, refused.body.field]).toEqual([422, 'value'])
  expect(refused.body.detail).toContain('DROVER_EVENTS_KEPT_DAYS_MIN')
  expect(refused.body.remedy).toContain('environment')
  expect((await call('GET', '/v1/settings/retention-events-days')).body.value).toBe(365)
  expect((await put(30)).status).toBe(200)
})

test('the command line takes a noted head from a file, checks who signed it, and says what a run did not show', async () => {
  const { db, handOut } = await setUp()
  const server = createHttpServer(depsOver(db)).listen(0, '127.0.0.1')
  await happens(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { DROVER_URL: url, DROVER_TOKEN: adminToken }
  const run = async (...line: string[]) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const signal = new AbortController().signal
    const code = await runCli(['events', ...line], { env, stdout, stderr, signal })
    return { code, said: `${stdout.read() ?? ''}${stderr.read() ?? ''}` }
  }
  const head = await handOut()
  await letTesterIn(db)
  const dir = await tempDir('noted')
  const path = (name: string) => join(dir, name)
  await writeFile(path('heads'), `an older line\n${head?.line}\n`)
  const { publicKey } = (await db.begin((tx) => installationKey(tx, sealer))) as { publicKey: Buffer }
  await writeFile(path('own.pem'), publicPem(publicKey))
  const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' })
  await writeFile(path('other.pem'), other)

  expect((await run('seals')).said).toContain(head?.line)
  const plain = await run('verify')
  expect(plain.code).toBe(4)
  expect(plain.said).toMatch(/chain +whole[\s\S]*Not shown by this run:[\s\S]*without a noted head/)
  const noted = await run('verify', '--head', path('heads'), '--key', path('own.pem'), '--kept-days', '365')
  expect(noted.code).toBe(0)
  expect(noted.said).not.toContain('without a noted head')
  await db.begin((tx) => rotateSigningKey(tx, sealer))
  const formerKey = await run('verify', '--head', path('heads'), '--key', path('own.pem'))
  expect(formerKey.code).toBe(0)
  expect(formerKey.said).not.toContain('known from the database alone')
  const wrongKey = await run('verify', '--head', path('heads'), '--key', path('other.pem'))
  expect(wrongKey.code).not.toBe(0)
  expect(wrongKey.said).toContain('was not signed with the key')
  expect((await run('verify', '--key', path('own.pem'))).said).toContain('give both')
  expect((await run('verify', '--head', path('missing'))).said).toContain('cannot be read')
  await cutOff(db)
  expect((await run('verify')).code).toBe(4)
  const found = await run('verify', '--head', head?.line ?? '')
  expect(found.code).toBe(1)
  expect(found.said).toMatch(/broken at seal 3/)
})
