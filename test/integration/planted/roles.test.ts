import { join } from 'node:path'
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { readAnswers, readPages } from '../../support/planted/answers.ts'
import { type Belongs, lookThrough, type Piece, type Planted } from '../../support/planted/forms.ts'
import {
  type PlantedInstallation,
  plantInstallation,
  signIn,
  takeReports,
} from '../../support/planted/installation.ts'
import { readFiles, readRedis, readTables, seeProcess } from '../../support/planted/places.ts'

/** Where a secret is all the same. Everything else that is found is a leak. */
const belongs: readonly Belongs[] = [
  ...['api', 'conductor', 'worker', 'lab'].map((role) => ({
    secret: 'password of the database',
    place: 'environment',
    where: new RegExp(`^${role}$`),
    why: 'Whoever starts a role by hand gives it DATABASE_URL; every role works in the database.',
  })),
  ...['api', 'conductor', 'worker', 'lab'].map((role) => ({
    secret: 'password of Redis',
    place: 'environment',
    where: new RegExp(`^${role}$`),
    why: 'The same for REDIS_URL; the test gives it to the lab too, which does not read it.',
  })),
  ...['sealing key', 'sealing key, as bytes'].map((secret) => ({
    secret,
    place: 'environment',
    where: /^(api|conductor|worker)$/,
    why: 'These roles open what is sealed. From a file (DROVER_SECRET_KEY_FILE) it is in no environment.',
  })),
  {
    secret: 'header for traces',
    place: 'environment',
    where: /^(api|conductor|worker|lab)$/,
    why: 'The library that sends traces reads it from the environment.',
  },
  { secret: 'admin token', place: 'environment', where: /^api$/, why: 'The preset of the first token.' },
  ...['password of a site', 'admin token of the lab'].map((secret) => ({
    secret,
    place: 'environment',
    where: /^lab$/,
    why: 'The lab is the platform that these open.',
  })),
  {
    secret: 'password of the database',
    place: 'files of Postgres',
    where: /^postgres\.password$/,
    why: 'The file of mode 600 in which an embedded Postgres has it, beside its data.',
  },
]

/** Readable in a failure: what was found, how it was written, where. */
const found = (secrets: readonly Planted[], pieces: readonly Piece[]): string[] =>
  lookThrough(secrets, pieces, belongs).map(
    ({ secret, form, place, where }) => `${secret} (${form}) in ${place}: ${where}`,
  )

const tokensOf = (secrets: readonly Planted[]): Record<string, string> =>
  Object.fromEntries(
    ['admin', 'operator', 'viewer'].map((role) => [
      role,
      secrets.find(({ name }) => name === `${role} token`)?.value ?? '',
    ]),
  )

const readMetrics = async (ports: readonly number[]): Promise<Piece[]> =>
  Promise.all(
    ports.flatMap((port) =>
      ['/metrics', '/healthz', '/readyz'].map(async (path) => ({
        place: 'answers',
        where: `${path} of a role`,
        text: await (await fetch(`http://127.0.0.1:${port}${path}`)).text(),
      })),
    ),
  )

/** A report is there before all of it is written. */
const isWhole = (text: string): boolean => {
  try {
    return Boolean(JSON.parse(text))
  } catch {
    return false
  }
}

/** Everything there is to see, kept, said or shown. */
const collect = async (installation: PlantedInstallation): Promise<Piece[]> => {
  const { secrets, base, databaseUrl, databaseDir, redis, processes, healthPorts } = installation
  const cookie = await signIn(installation)
  const seen = [
    ...(await readAnswers(base, tokensOf(secrets))),
    ...(await readPages(base, cookie, 120)),
    ...(await readMetrics(healthPorts)),
  ]
  const living = processes.filter(({ running }) => running)
  const processPieces = living.flatMap(({ pid }) => seeProcess(pid).pieces)
  const reports = () =>
    readFiles('reports of Node', installation.reportDir).filter(({ text }) => isWhole(text))
  await takeReports(installation, () => reports().length)
  return [
    ...seen,
    ...processPieces,
    ...reports(),
    ...(await readTables(databaseUrl)),
    ...readFiles('files of Postgres', databaseDir),
    ...(redis ? [...(await readRedis(redis.url)), ...readFiles('redis', redis.dir)] : []),
    ...processes.map(({ output }, at) => ({ place: 'logs', where: `process ${at}`, text: output })),
    ...installation.traces.map((text, at) => ({ place: 'traces', where: String(at), text })),
  ]
}

const places = [
  ...['tables', 'system tables', 'files of Postgres', 'logs', 'answers', 'pages', 'traces'],
  ...['arguments', 'environment', 'reports of Node'],
] as const

for (const bell of ['redis', 'postgres'] as const) {
  const installation = await plantInstallation(bell)
  const pieces = await collect(installation)
  const isPath = ({ name }: Planted) => name.startsWith('path of the')
  const secrets = installation.secrets.filter((one) => !isPath(one))
  const inPlace = (place: string) => pieces.filter((piece) => piece.place === place)

  describe(`planted secrets, with the bell on ${bell}`, () => {
    // promise: no-secret-elsewhere
    test.each(places)('are not found in the %s', (place) => {
      expect(inPlace(place).length).toBeGreaterThan(0)
      expect(found(secrets, inPlace(place))).toEqual([])
    })

    // promise: no-secret-elsewhere
    test('are not found in what the bell keeps', () => {
      const kept =
        bell === 'redis' ? inPlace('redis') : pieces.filter(({ where }) => where.startsWith('bullmq.'))
      expect(kept.length).toBeGreaterThan(3)
      expect(found(secrets, kept)).toEqual([])
    })

    test('the path of the address of a webhook, which often is a secret, is found nowhere', () => {
      expect(found(installation.secrets.filter(isPath), pieces)).toEqual([])
    })

    test('all that there is was looked at', () => {
      expect(inPlace('answers').length).toBeGreaterThan(150)
      expect(inPlace('pages').length).toBeGreaterThan(20)
      expect(
        inPlace('traces')
          .map(({ text }) => text)
          .join(),
      ).toContain('drover-worker')
      expect(inPlace('logs').every(({ text }) => text.length > 200)).toBe(true)
      expect(inPlace('files of Postgres').map(({ where }) => where)).toEqual(
        expect.arrayContaining([expect.stringMatching(/log$/), expect.stringMatching(/pg_wal\//)]),
      )
      expect(inPlace('tables').map(({ where }) => where)).toEqual(
        expect.arrayContaining(['public.site', 'public.event', 'public.webhook', 'public.api_request']),
      )
    })

    // promise: no-secret-elsewhere
    test('one that is put there is found: in a table, as bytes, in a file, in a log, in each form', async () => {
      const db = postgres(installation.databaseUrl, { max: 1, onnotice: () => {} })
      const [one] = secrets
      if (!one) throw new Error('No secret was planted.')
      await db`create schema planted`
      await db`create table planted.kept (as_text text, as_bytes bytea, as_json jsonb)`
      await db`insert into planted.kept values (${`before ${one.value} after`}, ${Buffer.from(one.value)}, ${db.json({ a: [one.value] })})`
      await db`checkpoint`
      await db.end({ timeout: 5 })
      const tables = lookThrough([one], await readTables(installation.databaseUrl), belongs)
      expect(tables).toEqual(
        expect.arrayContaining([expect.objectContaining({ where: 'planted.kept', form: 'plain' })]),
      )
      expect(tables).toEqual(
        expect.arrayContaining([expect.objectContaining({ where: 'planted.kept', form: 'hex' })]),
      )
      const files = readFiles('files of Postgres', join(installation.databaseDir, 'postgres', 'pg_wal'))
      expect(lookThrough([one], files, belongs)).not.toEqual([])
    })
  })
}
