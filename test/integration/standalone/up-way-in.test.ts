import { expect, inject, test } from 'vitest'
import { endProcessesOf } from '../../support/owned-processes.ts'
import { startProcess } from '../../support/processes.ts'
import { tempDir } from '../../support/temp.ts'
import { settles } from '../../support/wait.ts'

const startMs = 120_000

test('a start says whether a person gets in and how, and what it says to do lets that person in', {
  timeout: 480_000,
}, async () => {
  const dataDir = await tempDir('way-in')
  endProcessesOf(dataDir)
  const start = (env: NodeJS.ProcessEnv) =>
    startProcess({
      command: process.execPath,
      args: [inject('roles'), 'up'],
      env: {
        ...{
          DROVER_DATA_DIR: dataDir,
          HOME: dataDir,
          DROVER_PORT: '0',
          DROVER_WORKERS: '1',
          DROVER_LAB: '0',
        },
        ...env,
      },
    })
  const over = async (
    env: NodeJS.ProcessEnv,
    work: (address: string, said: () => string) => Promise<void>,
  ) => {
    const up = await start(env)
    const [, address = ''] = await up.line(/Console +(http:\S+)/, { withinMs: startMs })
    await work(address, () => up.output)
    up.kill('SIGINT')
    await settles(up.exited, { what: 'the start to end', withinMs: 40_000 })
  }
  const status = async (address: string, token: string) =>
    (await fetch(`${address}/v1/tokens`, { headers: { authorization: `Bearer ${token}` } })).status
  const [first, second] = ['a-first-preset-token', 'another-preset-token']

  await over({ DROVER_ADMIN_TOKEN: first }, async (address, said) => {
    expect(said()).toMatch(/Token +the one in DROVER_ADMIN_TOKEN/)
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
