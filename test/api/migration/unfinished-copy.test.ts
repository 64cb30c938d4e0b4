import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createScreens } from '../../../src/api/screens/screens.ts'
import { runCli } from '../../../src/cli/run.ts'
import { readConfig } from '../../../src/config/config.ts'
import { createAsk } from '../../../src/console/kit/ask.ts'
import { machinePage } from '../../../src/console/pages/operation/machine.ts'
import { runApi } from '../../../src/roles/api.ts'
import { adminEnv, adminToken } from '../../support/admin-token.ts'
import { atEnd } from '../../support/cleanup.ts'
import { addMachine } from '../../support/machines.ts'
import { createDatabase } from '../../support/postgres.ts'
import { clientOf, depsOver } from '../setup.ts'
import { addFleet, moveRow, restEntries, startBatch } from './batch-rows.ts'

const { db, url } = await createDatabase()
const deps = depsOver(db)
const call = clientOf(deps)
// The key that the rest of this file seals with: a process that meets another one ends itself.
const api = await runApi(
  readConfig({
    ...{ DATABASE_URL: url, DROVER_SECRET_KEY: '5'.repeat(64), DROVER_PORT: '0', DROVER_LOG_LEVEL: 'silent' },
    ...adminEnv,
  }),
)
atEnd(() => api.stop())

const machinesListed = async (): Promise<string> => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const env = { DROVER_URL: `http://127.0.0.1:${api.port}`, DROVER_TOKEN: adminToken }
  await runCli(['machines', 'list'], { env, stdout, stderr, signal: new AbortController().signal })
  return String(stdout.read() ?? '')
}

const pageOf = async (id: string): Promise<string> => {
  const ann = { name: 'ann', role: 'viewer', by: 'token', tokenId: 'none' } as const
  const { parts } = await machinePage({
    ...{ actor: ann, ask: createAsk(deps)(ann), path: `/machines/${id}`, params: { id } },
    ...{ screens: createScreens(deps), query: new URLSearchParams(), nowMs: Date.now() },
  })
  return (await Promise.all(parts.map(async ({ html }) => String(await html)))).join('\n')
}

// promise: shown-as-migrated
test.each(['error', 'canceled', 'background-import', 'idle'])(
  'a machine of ours whose entry is %s is an unfinished copy to everybody, and not one that was migrated',
  async (state) => {
    await db`truncate machine, site, batch, batch_instance, entry, instance cascade`
    await addFleet(db, ['web-1'])
    await startBatch(db, call)
    await restEntries(db)
    const [oslo] = await db<{ id: string }[]>`select id from site where name = 'oslo'`
    const id = await addMachine(db, { name: 'web-1', targetId: oslo?.id ?? '', ref: 'vm-7' })
    const [entry] = await db<{ id: string }[]>`
      update entry set target_id = ${oslo?.id ?? ''}::uuid, machine_ref = 'vm-7' returning id`
    await moveRow(db, entry?.id ?? '', { state, stage: 'background' })
    const shown = (await call('GET', `/v1/machines/${id}`)).body
    expect(shown).toMatchObject({ in_migration: true, batch: 'wave-1' })
    expect(shown.origin).not.toBe('migrated')
    expect((await call('GET', '/v1/machines?origin=migrated')).body.items).toEqual([])
    const listed = await machinesListed()
    expect(listed).toContain('unfinished copy of wave-1')
    expect(listed).not.toContain('migrated')
    const page = await pageOf(id)
    expect(page).toContain('an unfinished copy of ours')
    expect(page).not.toContain('it was there already')
    await moveRow(db, entry?.id ?? '', { state: 'finished', stage: 'complete' })
    expect(await machinesListed()).not.toContain('unfinished')
  },
)
