import { expect, test } from 'vitest'
import { validateSwap } from '../../../src/template/swap/validate.ts'

type Work = Parameters<typeof validateSwap>[0]
type Live = Parameters<typeof validateSwap>[1]

const image = (version: string, state = 'ready') =>
  ({ id: version, name: `debian-${version}`, state, facts: { product: 'Debian', version } }) as Work['image']

const judge = ({ template = {}, cause = 'update', wanted = image('2.0'), live }: Partial<Case>) =>
  validateSwap(
    {
      template: { name: 'debian', production: 'debian', allowDowngrade: false, deletedAt: null, ...template },
      version: { cause },
      image: wanted,
    } as Work,
    live,
  )

interface Case {
  readonly template: Partial<Work['template']>
  readonly cause: Work['version']['cause']
  readonly wanted: Work['image']
  readonly live: Live
}

test.each<[string, Partial<Case>]>([
  ['a first version', {}],
  ['a newer version', { live: image('1.0') }],
  ['an older version by rollback', { live: image('3.0'), cause: 'rollback' }],
  ['an older version where that is allowed', { live: image('3.0'), template: { allowDowngrade: true } }],
])('a swap takes %s', (_what, given) => {
  expect(judge(given)).toEqual({ inputs: 'good' })
})

test('a swap waits for an image that is being imported', () => {
  expect(judge({ wanted: image('2.0', 'importing') })).toEqual({ inputs: 'waits' })
})

test.each<[string, Partial<Case>, string, string]>([
  // Asked for while it was imported: only then its version became known.
  ['an older version', { live: image('3.0') }, 'template-downgrade', 'config'],
  ['an image that failed', { wanted: image('2.0', 'failed') }, 'image-not-ready', 'config'],
  ['a deleted image', { wanted: image('2.0', 'deleted') }, 'image-not-ready', 'config'],
  ['a forgotten template', { template: { deletedAt: new Date(0) } }, 'template-forgotten', 'permanent'],
  ['a reserved name', { template: { production: 'drv-tmp-1' } }, 'template-name-invalid', 'config'],
  [
    'a name that is too long',
    { template: { production: 'x'.repeat(81) } },
    'template-name-invalid',
    'config',
  ],
])('a swap refuses %s', (_what, given, code, errorClass) => {
  expect(judge(given)).toMatchObject({ inputs: 'refused', error: { code, class: errorClass } })
})
