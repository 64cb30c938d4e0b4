import { expect, test } from 'vitest'
import { portOf } from '../../../src/platforms/ports/ports.ts'
import { freePort } from '../../support/temp.ts'
import { settles, until } from '../../support/wait.ts'
import {
  behindProxy,
  callOf,
  errorOf,
  expectError,
  nowhere,
  opened,
  type PlatformUnderTest,
} from './world.ts'

/** What holds for any platform before it has done anything. */
export const testIdentity = (world: PlatformUnderTest): void => {
  test('says who it is, the same to everybody', async () => {
    const [one, two] = await Promise.all([opened(world).probe(callOf()), opened(world).probe(callOf())])
    expect(one.product).not.toBe('')
    expect(one.version).not.toBe('')
    expect(two).toEqual(one)
  })

  test('can do just what is declared of it', () => {
    expect([...opened(world).capabilities].sort()).toEqual([...world.declares].sort())
  })

  test('refuses a wrong password by name, and tells it nobody', async () => {
    const password = 'planted-wrong-password'
    const probe = opened(world, { password }).probe(callOf())
    const error = await expectError(probe, { code: 'platform-authentication', failure: 'refused' })
    expect(JSON.stringify([error.message, error.remedy, error.detail, error.stack])).not.toContain(password)
  })

  test('is unreachable at a port where nobody listens, and then nothing happened', async () => {
    const endpoint = new URL(world.connection.endpoint)
    endpoint.port = String(await freePort())
    const probe = opened(world, { endpoint: endpoint.href }).probe(callOf())
    await expectError(probe, { code: 'platform-unreachable', failure: 'refused' })
  })

  testEndings(world)
  testSessions(world)
  testCertificate(world)
}

const testEndings = (world: PlatformUnderTest): void => {
  test('ends a call that stalls at its deadline', async () => {
    const { platform, proxy } = await behindProxy(world)
    await platform.probe(callOf())
    proxy.blackhole()
    await expectError(platform.probe(callOf({ timeoutMs: 300 })), { code: 'platform-timeout' })
    if (platform.ports.power)
      await expectError(platform.ports.power.power(callOf({ timeoutMs: 300 }), nowhere), {
        code: 'platform-timeout',
      })
  })

  test('ends a call at once when its signal fires, with the reason of the signal', async () => {
    const { platform, proxy } = await behindProxy(world)
    await platform.probe(callOf())
    proxy.blackhole()
    const ending = new AbortController()
    const stalled = platform.probe(callOf({ signal: ending.signal }))
    const failed = expect(settles(stalled, { what: 'the call to end' })).rejects.toThrow('fenced off')
    ending.abort(new Error('fenced off'))
    await failed
    await expect(platform.probe(callOf({ signal: ending.signal }))).rejects.toThrow('fenced off')
  })

  test('goes on when the network comes back', async () => {
    const { platform, proxy } = await behindProxy(world)
    const before = await platform.probe(callOf())
    proxy.cut()
    await expectError(platform.probe(callOf()), { code: 'platform-unreachable' })
    proxy.heal()
    const after = await until(() => platform.probe(callOf()), { what: 'an answer', withinMs: 60_000 })
    expect(after).toEqual(before)
  })

  test('closes without a word, whatever state it is in', async () => {
    await opened(world).close()
    const used = opened(world)
    await used.probe(callOf())
    await Promise.all([used.close(), used.close()])
    await used.close()
    await errorOf(used.probe(callOf()))
    const { platform, proxy } = await behindProxy(world)
    await platform.probe(callOf())
    proxy.blackhole()
    const stalled = errorOf(platform.probe(callOf()))
    await settles(platform.close(), { what: 'the farewell to be given up', withinMs: 30_000 })
    await stalled
  })
}

const testSessions = (world: PlatformUnderTest): void => {
  const { loseSessions } = world.levers
  if (!loseSessions) return
  test('signs in anew when its session was lost, without a word', async () => {
    const platform = opened(world)
    const before = await platform.probe(callOf())
    await loseSessions()
    expect(await platform.probe(callOf())).toEqual(before)
    await loseSessions()
    const inventory = portOf(platform, 'inventory')
    const asked = Array.from({ length: 8 }, () => inventory.instance(callOf(), nowhere))
    expect((await Promise.all(asked)).every(({ found }) => !found)).toBe(true)
  })
}

const testCertificate = (world: PlatformUnderTest): void => {
  if (!world.connection.endpoint.startsWith('https:')) return
  test('shows the certificate instead of signing in, until it is confirmed', async () => {
    const probe = (fingerprint: string) => opened(world, { ca: '', fingerprint }).probe(callOf())
    const unknown = await expectError(probe(''), { code: 'platform-fingerprint', failure: 'refused' })
    const seen = String(unknown.detail?.fingerprint)
    expect(seen).toMatch(/^[0-9a-f]{64}$/)
    await expectError(probe('ab'.repeat(32)), { code: 'platform-fingerprint', failure: 'refused' })
    expect((await probe(seen)).product).not.toBe('')
  })
}
