import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { repositoryRoot } from '../../support/processes.ts'

const drover = (...args: string[]) => {
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, DROVER_URL: 'http://127.0.0.1:9', DROVER_TOKEN: 'x' } as NodeJS.ProcessEnv
  const program = join(repositoryRoot, 'src', 'roles', 'drover.mjs')
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], { env, encoding: 'utf8' })
  return { status, stderr }
}

test('migrate alone is about the database, and with a machine behind it about that machine', () => {
  expect(drover('migrate')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('`drover migrate` needs DATABASE_URL. Set it to'),
  })
  expect(drover('migrate', 'web-01')).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('does not answer'),
  })
  expect(drover('migrate', '--target', 'cloud', '--yes')).toMatchObject({ status: 3 })
})

test('what only the owner of the database may do says whose URL it needs, and where npm start does it', () => {
  for (const command of ['rekey', 'repair-seals']) {
    const { status, stderr } = drover(command)
    expect(status).toBe(1)
    expect(stderr).toContain(`\`drover ${command}\` needs DATABASE_URL.`)
    expect(stderr).toMatch(/owner.*npm start.*docs\/production\.md/)
  }
})
