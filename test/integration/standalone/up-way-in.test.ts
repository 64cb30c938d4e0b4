import { expect, test } from 'vitest'
import { addressOf, freshDataDir, startUp } from '../../support/up.ts'
import { settles, until } from '../../support/wait.ts'

test('a start says whether a person gets in and how, and what it says to do lets that person in', {
  timeout: 480_000,
}, async () => {
  const dataDir = await freshDataDir()
  const over = async (
    env: NodeJS.ProcessEnv,
    work: (address: string, said: () => string) => Promise<void>,
  ) => {
    const up = await startUp(dataDir, { DROVER_LAB: '0', ...env })
    await work(await addressOf(up), () => up.output)
    up.kill('SIGINT')
    await settles(up.exited, { what: 'the start to end', withinMs: 40_000 })
  }
  const status = async (address: string, token: string) =>
    (await fetch(`${address}/v1/tokens`, { headers: { authorization: `Bearer ${token}` } })).status
  const [first, second] = ['a-first-preset-token', 'another-preset-token']

  await over({ DROVER_ADMIN_TOKEN: first }, async (address, said) => {
    // The lines of one greeting may come in several pieces.
    await until(() => /Token +the one in DROVER_ADMIN_TOKEN/.test(said()), { what: 'the line of the token' })
    expect(said()).not.toMatch(/No admin token|stays so/)
    expect(await status(address, first)).toBe(200)
  })
  await over({ DROVER_ADMIN_TOKEN: second }, async (address) => {
    expect([await status(address, first), await status(address, second)]).toEqual([401, 200])
  })
  // The first one again: it is dead, and the way in is another one.
  await over({ DROVER_ADMIN_TOKEN: first }, async (address, said) => {
    expect(said()).toContain(
      'The token in DROVER_ADMIN_TOKEN is revoked and stays so. Set another value, or unset it.',
    )
    expect(said()).not.toContain('No admin token is left')
    expect(said()).not.toMatch(/Token +the one in DROVER_ADMIN_TOKEN/)
    expect([await status(address, first), await status(address, second)]).toEqual([401, 200])
  })
})
