import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createSealer, secretKeyId } from '../../../src/seal/seal.ts'
import { enterKey } from '../../../src/sealing/key-check.ts'
import { loginUrl } from '../../support/logins.ts'
import { createDatabase } from '../../support/postgres.ts'
import { sealWorld } from '../../support/sealed-world.ts'
import { selfSigned } from '../../support/self-signed.ts'
import { tempDir } from '../../support/temp.ts'
import { addressOf, freshDataDir, startMs, startUp } from '../../support/up.ts'
import { settles } from '../../support/wait.ts'

const token = 'a-preset-token-for-tests'

const start = (dataDir: string, more: { args?: string[]; env?: NodeJS.ProcessEnv } = {}) =>
  startUp(dataDir, { DROVER_LAB: '0', DROVER_ADMIN_TOKEN: token, ...more.env }, more.args)

test(
  'the key in the data directory is replaced by two starts, a lost one is refused, and given up by a word',
  async () => {
    const dataDir = await freshDataDir()
    const file = join(dataDir, 'secret.key')
    const round = async (
      more?: Parameters<typeof start>[1],
      work?: (address: string) => Promise<void>,
    ): Promise<string> => {
      const up = await start(dataDir, more)
      const address = await addressOf(up)
      await work?.(address)
      up.kill('SIGINT')
      expect(await settles(up.exited, { what: 'the end', withinMs: startMs })).toMatchObject({ code: 0 })
      return up.output
    }
    await round({}, async (address) => {
      const made = await fetch(`${address}/v1/webhooks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'chat', url: 'https://example.org/hidden', types: ['never'] }),
      })
      expect(made.status).toBe(201)
    })
    renameSync(file, `${file}.old`)
    const refused = await start(dataDir)
    expect(await settles(refused.exited, { what: 'the refusal', withinMs: startMs })).toMatchObject({
      code: 1,
    })
    expect(refused.output).toContain('is sealed with the secret key')
    expect(refused.output).not.toMatch(/Stopping|workers finish/)
    expect(refused.output).toContain('Nothing is left running.')
    expect(existsSync(file)).toBe(false)
    const both = { env: { DROVER_SECRET_KEYS_OLD_FILE: `${file}.old` } }
    expect(await round(both)).toContain('2 secrets were sealed anew')
    await round()
    renameSync(file, `${file}.gone`)
    const lost = await round({ args: ['--lost-key'] })
    expect(lost).toContain('must be given again: the secret and the URL of webhook chat')
    expect(lost).toContain('is given up')
    expect(lost).not.toContain('for a day')
    await round()
  },
  startMs * 6,
)

test(
  'a replacement of the key stops where the events do not hold, says what to do, and goes on without it when told to',
  async () => {
    const dataDir = await freshDataDir()
    const [oldKey, newKey] = ['0a'.repeat(32), '0b'.repeat(32)]
    const { db, url } = await createDatabase()
    await sealWorld(db, oldKey)
    await enterKey(db, createSealer(oldKey))
    await db`update event set reason = 'edited' where reason = 'to be proved'`
    const env = {
      DATABASE_URL: loginUrl(url, 'owner'),
      DROVER_SECRET_KEY: newKey,
      DROVER_SECRET_KEYS_OLD: oldKey,
    }
    const stopped = await start(dataDir, { env })
    expect(await settles(stopped.exited, { what: 'the end', withinMs: startMs })).toMatchObject({ code: 1 })
    expect(stopped.output).toContain('The chain of events does not hold')
    expect(stopped.output).toContain('--no-rekey')
    expect(stopped.output).not.toMatch(/Console|Stopping/)
    const up = await start(dataDir, { env, args: ['--no-rekey'] })
    await addressOf(up)
    up.kill('SIGINT')
    await settles(up.exited, { what: 'the end', withinMs: startMs })
    const listed = await db<{ id: string }[]>`select id from sealing_key`
    expect(listed.map(({ id }) => id).sort()).toEqual([oldKey, newKey].map(secretKeyId).sort())
  },
  startMs * 3,
)

test(
  'a seal that somebody added without the key is taken away by a start that is told to',
  async () => {
    const dataDir = await freshDataDir()
    const key = '0a'.repeat(32)
    const { db, url } = await createDatabase()
    await sealWorld(db, key)
    await enterKey(db, createSealer(key))
    await db`insert into event_seal (seq, era, from_xid, to_xid, events, previous_hash, hash, mac, version)
      select seq + 1, era, to_xid, to_xid, 0, hash, ${Buffer.alloc(32, 9)}, 'x', 2 from event_seal where seq = 1`
    const env = { DATABASE_URL: loginUrl(url, 'owner'), DROVER_SECRET_KEY: key }
    const up = await start(dataDir, { env, args: ['--repair-seals', '--without-head'] })
    await addressOf(up)
    up.kill('SIGINT')
    await settles(up.exited, { what: 'the end', withinMs: startMs })
    expect(await db`select actor from event where type = 'sealing.repaired'`).toEqual([
      { actor: 'repair-seals' },
    ])
    expect(await db`select from event_seal where mac = 'x'`).toHaveLength(0)
  },
  startMs * 2,
)

test(
  'a file of authorities that is meant for another Postgres does not keep the embedded one from starting',
  async () => {
    const dataDir = await freshDataDir()
    const file = join(await tempDir('ca'), 'ca.pem')
    writeFileSync(file, selfSigned().cert)
    const up = await start(dataDir, { env: { DATABASE_CA_FILE: file, REDIS_CA_FILE: file } })
    await addressOf(up)
    up.kill('SIGINT')
    expect(await settles(up.exited, { what: 'the end', withinMs: startMs })).toMatchObject({ code: 0 })
  },
  startMs * 2,
)
