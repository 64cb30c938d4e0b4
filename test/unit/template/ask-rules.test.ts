import { expect, test } from 'vitest'
import {
  type AskedImage,
  type AskFacts,
  refuseImage,
  type TriedVersion,
  versionBefore,
} from '../../../src/domain/template/ask-rules.ts'
import type { VersionState } from '../../../src/domain/template/version.ts'

const image = (version: string, more: Partial<AskedImage> = {}): AskedImage => ({
  ...{
    id: `id-${version}`,
    name: `debian-${version}`,
    state: 'ready',
    facts: { product: 'Debian', version },
  },
  ...more,
})
const version = (number: number, state: VersionState, failed = false, imageId = 'id-2.0'): TriedVersion => ({
  ...{ number, imageId, state, failed },
})
const facts = (more: Partial<AskFacts> = {}): AskFacts => ({
  ...{ image: image('2.0'), live: image('1.0'), allowDowngrade: false, versions: [] },
  ...more,
})
const failed = [3, 2, 1].map((number) => version(number, 'withdrawn', true))

test.each([
  ['a newer version', {}, null],
  ['the first of all', { live: null }, null],
  ['an image that is being imported', { image: image('2.0', { state: 'importing', facts: null }) }, null],
  ['an image that failed', { image: image('2.0', { state: 'failed' }) }, 'image-not-ready'],
  ['a deleted image', { image: image('2.0', { state: 'deleted' }) }, 'image-not-ready'],
  ['an older version', { live: image('3.0') }, 'template-downgrade'],
  ['an older version that is allowed', { live: image('3.0'), allowDowngrade: true }, null],
  [
    'an older version of another product',
    { live: image('3.0', { facts: { product: 'Ubuntu', version: '3.0' } }) },
    null,
  ],
  ['what has failed three times in a row', { versions: failed }, 'template-hot-loop'],
  ['what has failed twice', { versions: failed.slice(1) }, null],
  ['what was given up in between', { versions: [version(4, 'withdrawn'), ...failed] }, null],
  [
    'what another image has come after',
    { versions: [version(4, 'withdrawn', true, 'id-9'), ...failed] },
    null,
  ],
] as const)('to want %s is answered with its reason, or taken', (_, more, code) => {
  expect(refuseImage(facts(more as Partial<AskFacts>))?.code ?? null).toBe(code)
})

test.each([
  ['what was live before', [version(3, 'live'), version(2, 'gone'), version(1, 'kept')], 3, 3, 2],
  ['what is live while another is wanted', [version(3, 'wanted'), version(2, 'live')], 2, 3, 2],
  ['nothing that never was live', [version(2, 'live'), version(1, 'withdrawn')], 2, 2, undefined],
  ['nothing before the first', [version(1, 'wanted')], null, 1, undefined],
] as const)('a rollback without a version goes back to %s', (_, versions, live, wanted, number) => {
  expect(versionBefore(versions, { live, wanted })?.number).toBe(number)
})
