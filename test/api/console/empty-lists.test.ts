import { expect, test } from 'vitest'
import { createConsole } from '../../../src/console/console.ts'
import { createDatabase } from '../../support/postgres.ts'
import { addFleet, restEntries, startBatch } from '../migration/batch-rows.ts'
import { clientOf, depsOver } from '../setup.ts'

const { db } = await createDatabase()
const deps = depsOver(db)
const call = clientOf({ ...deps, console: createConsole(deps) })

test.each([
  ['/failed', 'kind=self-test', 'No job has failed for good.'],
  ['/jobs', 'state=failed', 'There is no job yet.'],
  ['/events', 'type=no-such', 'No event yet.'],
  ['/hosts', 'source=paris', 'No host is known.'],
  ['/networks', 'source=paris', 'No network is known.'],
  ['/warnings', 'status=acknowledged', 'There is no new warning.'],
  ['/instances', 'show=migrated', 'No machine is there to be migrated.'],
  ['/machines', 'target=oslo', 'No machine is known yet.'],
  ['/operations', 'kind=start', 'No operation is open.'],
  ['/templates', 'target=oslo', 'There is no template yet.'],
  ['/images', 'state=failed', 'There is no image yet.'],
  ['/certificates', 'batch=wave-1', 'No machine has arrived yet.'],
  ['/batches', 'state=running', 'There is no batch yet.'],
  ['/queue', 'state=blocked', 'There is no entry.'],
])(
  '%s says that nothing fits while %s is asked for, and that there is nothing only without it',
  async (path, filter, none) => {
    const narrowed = (await call('GET', `${path}?${filter}`)).text
    expect(narrowed).toContain('Nothing fits the filter.')
    expect(narrowed).not.toContain(none)
    // A form whose fields were left empty, and the notice of a button, narrow nothing down.
    const [name] = filter.split('=')
    for (const whole of [path, `${path}?${name}=`, `${path}?notice=removed`])
      expect((await call('GET', whole)).text).toContain(none)
  },
)

test('a batch whose source was removed does not say that it has not started', async () => {
  await addFleet(db, ['web-1'])
  await startBatch(db, call, { include_expression: 'true' })
  await restEntries(db)
  await db`update entry set state = 'finished', stage = 'complete'`
  await db`update instance set frozen_by = null`
  expect(
    (await call('DELETE', '/v1/sources/paris?confirm_finished=1', { headers: { 'if-match': '*' } })).status,
  ).toBe(204)
  const { text } = await call('GET', '/batches/wave-1')
  expect(text).toContain('went with their source')
  expect(text).not.toContain('before it starts')
})
