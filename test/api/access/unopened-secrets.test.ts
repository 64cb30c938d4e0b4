import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { enterKey } from '../../../src/sealing/key-check.ts'
import { rekey } from '../../../src/sealing/rekey.ts'
import { createDatabase } from '../../support/postgres.ts'
import { sealWorld } from '../../support/sealed-world.ts'
import { clientOf, depsOver } from '../setup.ts'

const [oldKey, newKey] = ['0a'.repeat(32), '0b'.repeat(32)]
const [before, after] = [createSealer(oldKey), createSealer(newKey)]

test('after a lost key it is said what must be given again: counted in public, named to who may look', async () => {
  const { db } = await createDatabase()
  await sealWorld(db, oldKey)
  await enterKey(db, before)
  const old = clientOf(depsOver(db, { sealer: before }))
  expect((await old('GET', '/v1/unopened-secrets')).body).toEqual({ total: 0, items: [] })
  expect((await old('GET', '/readyz')).body.warnings).toEqual([])
  await rekey({
    ...{ db, sealer: after, oldHexKeys: [], lost: true, clock: systemClock, graceMs: 1, floorDays: 30 },
  })
  const call = clientOf(depsOver(db, { sealer: after }))
  const [hook] = await db<{ id: string }[]>`select id from webhook`
  expect((await call('GET', '/v1/unopened-secrets')).body).toEqual({
    total: 2,
    items: [
      { name: 'source paris', remedy: 'drover sources set paris --password' },
      { name: 'webhook chat', remedy: `drover webhooks remove ${hook?.id}, then drover webhooks add` },
    ],
  })
  const { body, text } = await call('GET', '/readyz')
  expect(body.warnings).toEqual([expect.stringMatching(/secrets of 2 .*drover doctor/)])
  expect(body.reasons).not.toContainEqual(expect.stringContaining('given again'))
  expect(text).not.toMatch(/paris|chat/)
})
