import { expect, test } from 'vitest'
import { startApi } from '../../support/stub-api.ts'

const pemOf = (name: string) => `-----BEGIN PUBLIC KEY-----\n${name}\n-----END PUBLIC KEY-----\n`
const keyOf = (id: string, signs: boolean, retired: string | null = null) => ({
  ...{ id, algorithm: 'ed25519', public_key: pemOf(id), created_at: '2026-01-01T00:00:00.000Z' },
  ...{ retired_at: retired, follows: null, vouched: null, signs },
})
/** A key that somebody added beside the one that signs is listed first: it is younger. */
const items = [keyOf('added', false), keyOf('ours', true), keyOf('old', false, '2026-01-02T00:00:00.000Z')]

test('the key that signs is not replaced before a person has read what that means, or said --yes', async () => {
  const { run, typing, asked } = await startApi(() => keyOf('next', true))
  const posts = () => asked.filter(({ method }) => method === 'POST').length
  const script = await run('signing-keys', 'rotate')
  expect(script.code).toBe(2)
  expect(script.stderr).toMatch(/destroyed for good[\s\S]*handed out[\s\S]*Add --yes/)
  expect(await typing('n\n', 'signing-keys', 'rotate')).toMatchObject({ code: 2 })
  expect(posts()).toBe(0)
  expect((await typing('y\n', 'signing-keys', 'rotate')).code).toBe(0)
  expect((await run('signing-keys', 'rotate', '--yes')).code).toBe(0)
  expect(posts()).toBe(2)
})

test('the list says which key signs, and --pem gives that one and not a younger one beside it', async () => {
  const { run } = await startApi(() => ({ items }))
  const { stdout } = await run('signing-keys')
  const lines = stdout.split('\n')
  expect(lines.find((line) => line.startsWith('ours'))).toMatch(/signs now/)
  for (const id of ['added', 'old'])
    expect(lines.find((line) => line.startsWith(id))).not.toMatch(/signs now/)
  expect((await run('signing-keys', '--pem')).stdout).toBe(pemOf('ours'))
})
