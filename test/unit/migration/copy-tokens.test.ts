import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseToken } from '../../../src/domain/job/token.ts'
import { tokensOfSource } from '../../../src/domain/migration/schedule/copy-tokens.ts'
import { sampleInstance } from '../inventory/samples.ts'

const [disk] = sampleInstance().disks
if (!disk) throw new Error('The sample has no disk.')
const on = (...datastores: string[]) =>
  datastores.map((datastore, at) => ({ ...disk, key: `${2000 + at}`, datastore }))

test('a copy takes a read of the host and one snapshot on each datastore of the disks that are copied', () => {
  const raw = { ...disk, key: '2009', datastore: 'lun-7', backing: 'raw' as const }
  expect(tokensOfSource('paris', { host: 'esx-04', disks: [...on('fast', 'slow', 'fast'), raw] })).toEqual([
    'source-host-reads/paris.esx-04',
    'source-snapshots/paris.fast',
    'source-snapshots/paris.slow',
  ])
  expect(tokensOfSource('paris', { host: '', disks: on('') })).toEqual([])
})

test('whatever hosts and datastores are called, the names are those of tokens', () => {
  const name = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(name, name, (host, datastore) => {
      const tokens = tokensOfSource('paris', { host, disks: on(datastore) })
      expect(tokens.filter((token) => !parseToken(token))).toEqual([])
    }),
  )
  const named = (datastore: string) => tokensOfSource('paris', { host: '', disks: on(datastore) })
  expect(named('lager / süd')).toEqual(['source-snapshots/paris.lager%20%2f%20s%fcd'])
  expect(named('倉庫')).not.toEqual(named('金庫'))
})
