import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { endProcessesOf } from '../../support/owned-processes.ts'
import {
  type Belongs,
  distinct,
  distinctWord,
  lookThrough,
  type Planted,
} from '../../support/planted/forms.ts'
import { readFiles, readTables, seeFamily, seeProcess } from '../../support/planted/places.ts'
import { startProcess } from '../../support/processes.ts'
import { tempDir } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const startMs = 120_000

const given = {
  DROVER_ADMIN_TOKEN: distinctWord('admin-token'),
  DROVER_SECRET_KEY: Buffer.from(distinctWord('k')).toString('hex').slice(0, 64),
  DROVER_LAB_PASSWORD: distinct('lab-password'),
  DROVER_LAB_ADMIN_TOKEN: distinctWord('lab-admin-token'),
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=${distinctWord('otlp-header')}`,
}

const both = (secret: string, where: RegExp, why: string): Belongs => ({
  secret,
  place: 'environment',
  where,
  why,
})

/** Where a secret is all the same. Everything else that is found is a leak. */
const belongs: readonly Belongs[] = [
  ...Object.keys(given).map((name) => both(name, /^up$/, 'A person gave it to `npm start`.')),
  both('DROVER_SECRET_KEY', /^(api|conductor|worker)$/, 'They open what is sealed.'),
  both('database', /^(api|conductor|worker|lab)$/, 'They work in the database.'),
  both('OTEL_EXPORTER_OTLP_HEADERS', /^(api|conductor|worker)$/, 'They send traces.'),
  ...['DROVER_LAB_PASSWORD', 'DROVER_LAB_ADMIN_TOKEN'].map((name) =>
    both(name, /^lab$/, 'The lab is the platform that these open.'),
  ),
  {
    secret: 'database',
    place: 'data directory',
    where: /^postgres\.password$/,
    why: 'Made at the first start, mode 600: the next one needs it.',
  },
  {
    secret: 'local token',
    place: 'data directory',
    where: /^local\.token$/,
    why: 'The way in for programs of this user, mode 600.',
  },
]

// promise: no-secret-elsewhere
test(
  'npm start gives no child a secret that it does not need, keeps none in its logs and files, and leaves no core dump',
  async () => {
    const dataDir = join(await tempDir('planted-up'), 'data')
    endProcessesOf(dataDir)
    const up = await startProcess({
      command: process.execPath,
      args: ['src/roles/start.mjs'],
      env: { DROVER_DATA_DIR: dataDir, HOME: dataDir, DROVER_PORT: '0', DROVER_WORKERS: '1', ...given },
    })
    await up.line(/Console +(http:\S+)/, { withinMs: startMs })
    await up.line(/24 machines to migrate/, { withinMs: startMs })
    const kept = (name: string) => readFileSync(join(dataDir, name), 'utf8').trim()
    const port = kept('postgres/postmaster.pid').split('\n')[3]
    const secrets: Planted[] = [
      ...Object.entries(given).map(([name, value]) => ({ name, value: value.replace('authorization=', '') })),
      { name: 'database', value: kept('postgres.password') },
      { name: 'local token', value: kept('local.token') },
    ]
    const found = (pieces: Parameters<typeof lookThrough>[1]) =>
      lookThrough(secrets, pieces, belongs).map(
        ({ secret, form, place, where }) => `${secret} (${form}) in ${place}: ${where}`,
      )

    const family = await until(
      () => {
        const seen = seeFamily(up.pid)
        const names = new Set(seen.map(({ name }) => name))
        return (
          ['up', 'api', 'conductor', 'worker', 'lab', 'postgres'].every((name) => names.has(name)) && seen
        )
      },
      { what: 'all of it to run' },
    )
    expect(found(family.flatMap(({ pieces }) => pieces))).toEqual([])
    const children = family.filter(({ name, coreLimit }) => name !== 'up' && coreLimit !== 'gone')
    expect(children.length).toBeGreaterThan(5)
    expect(children.filter(({ coreLimit }) => coreLimit !== '0').map(({ name }) => name)).toEqual([])

    const url = `postgres://drover:${secrets.find(({ name }) => name === 'database')?.value}@127.0.0.1:${port}/drover`
    expect(found(await readTables(url))).toEqual([])
    const files = readFiles('data directory', dataDir)
    expect(files.map(({ where }) => where)).toEqual(
      expect.arrayContaining([
        'postgres.password',
        'local.token',
        'logs/api.log',
        'logs/worker-1.log',
        'logs/lab.log',
      ]),
    )
    expect(found(files)).toEqual([])
    expect(found([{ place: 'terminal', where: 'npm start', text: up.output }])).toEqual([])
    // The same look finds what is there.
    const careless = await startProcess({
      command: process.execPath,
      args: ['-e', 'setInterval(() => {}, 1_000)', given.DROVER_LAB_ADMIN_TOKEN],
      env: { KEY: given.DROVER_SECRET_KEY },
    })
    expect(found(seeProcess(careless.pid).pieces)).toEqual([
      'DROVER_LAB_ADMIN_TOKEN (plain) in arguments: other',
      'DROVER_SECRET_KEY (plain) in environment: other',
    ])
    await up.stop()
  },
  3 * startMs,
)
