import { expect, test } from 'vitest'
import { type Db, openDb, type Tx } from '../../../db/client.ts'
import { functions, sequences, tables } from '../../../db/privileges.ts'
import { grantPrivileges, readOwnThings } from '../../../db/queries/server/grant-privileges.ts'
import { findGroups } from '../../../db/queries/server/role-groups.ts'
import { installationKey, rotateSigningKey } from '../../../src/certificate/installation-key.ts'
import type { LoginRole } from '../../../src/config/database-urls.ts'
import { verifySeals } from '../../../src/ledger/seals/verify-seals.ts'
import { atEnd } from '../../support/cleanup.ts'
import { sealAll, testSealer, untilReadable, writeEvents } from '../../support/events.ts'
import { loginUrl } from '../../support/logins.ts'
import { createDatabase } from '../../support/postgres.ts'
import { migrateAsOwner } from '../../support/shared-postgres.ts'

const { db, url } = await createDatabase()

const as = (who: LoginRole | 'owner'): Db => {
  const opened = openDb({ url: loginUrl(url, who), max: 1, applicationName: `drover-${who}` })
  atEnd(() => opened.end({ timeout: 1 }))
  return opened
}
const logins = {
  api: as('api'),
  conductor: as('conductor'),
  worker: as('worker'),
  lab: as('lab'),
}
const owner = as('owner')
// A copy of a database has the privileges of all in it, and not those of the database itself.
await migrateAsOwner(url)
await db`create table lab.rack (n int)`
await db`alter table lab.rack owner to drover_lab_login`

/** SQLSTATE of the refusal, or what the statement gave. */
const outcome = (who: LoginRole, statement: string): Promise<unknown> =>
  logins[who].unsafe(statement).then(
    (rows) => ({ done: rows.count }),
    (error: { code?: string }) => error.code,
  )

const nobodyMay = [
  "update public.event set actor = 'somebody else'",
  'delete from public.event_seal',
  'truncate public.event',
  'truncate public.event_seal',
  'update public.event_seal set hash = hash',
  'drop table public.event',
  'alter table public.event disable trigger all',
  'create table public.mine (n int)',
  'create function public.sha256(bytea) returns bytea language sql as $$ select $1 $$',
  'create schema mine',
  'create temporary table event (n int)',
  'create role mine superuser',
  'alter role current_user superuser',
  'set role drover_owner',
  'create extension dblink',
  "select pg_read_file('/etc/passwd')",
  "copy public.event to program 'cat'",
  "copy public.event from '/etc/passwd'",
  'select rolpassword from pg_authid',
  "alter system set log_statement = 'all'",
  "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'drover'",
  'delete from drizzle.__drizzle_migrations',
  'drop schema bullmq cascade',
  'create table bullmq.mine (n int)',
  'update bullmq.drover_identity set id = gen_random_uuid()',
  'insert into bullmq.migration (version, name, min_client_version) values (999, $$x$$, 999)',
]

// promise: database-roles
test.each(
  (['api', 'conductor', 'worker', 'lab'] as const).flatMap((who) =>
    nobodyMay.map((statement) => [who, statement] as const),
  ),
)('the %s cannot: %s', async (who, statement) => {
  expect(await outcome(who, statement)).toBe('42501')
})

// promise: database-roles
test.each([
  ['worker', 'select hash from access_token'],
  ['worker', 'insert into access_token select from access_token'],
  ['worker', 'select secret from webhook'],
  ['worker', 'update webhook set url = url'],
  ['worker', 'select body from api_request'],
  ['worker', 'update setting set value = value'],
  ['worker', 'delete from setting'],
  ['worker', 'update admission_limit set capacity = 1000'],
  ['worker', 'delete from pause'],
  ['worker', 'insert into waiver select from waiver'],
  ['worker', 'delete from event'],
  [
    'worker',
    'insert into event (era, type, subject_type, subject_id, actor) select 2, name, name, name, name from site',
  ],
  [
    'conductor',
    'insert into event (xid, type, subject_type, subject_id, actor) select xid, type, type, type, actor from event',
  ],
  [
    'api',
    'insert into event (at, type, subject_type, subject_id, actor) select at, type, type, type, actor from event',
  ],
  [
    'worker',
    'insert into signing_key (id, public_key, created_at) select id, public_key, created_at from signing_key',
  ],
  [
    'worker',
    'insert into signing_key (id, public_key, retired_at) select id, public_key, now() from signing_key',
  ],
  [
    'conductor',
    'insert into signing_key (id, public_key, retired_at) select id, public_key, now() from signing_key',
  ],
  ['api', "update ledger_fact set name = 'nothing'"],
  ['conductor', "update ledger_fact set name = 'nothing'"],
  ...(['api', 'conductor', 'worker'] as const).flatMap((who) =>
    [
      ...['era', 'cluster', 'made-up'].map(
        (name) => `insert into ledger_fact (name, value) values ('${name}', '2') on conflict do nothing`,
      ),
      ...['era', 'installation-id'].map(
        (name) => `insert into ledger_fact (name, value) values ('${name}', '2')
          on conflict (name) do update set value = excluded.value`,
      ),
      'delete from ledger_fact',
      'truncate ledger_fact',
      'alter table ledger_fact disable row level security',
      'update sealing_key set id = id',
      'delete from sealing_key',
      "insert into sealing_key (id, check_value) values ('x', 'x')",
      'update schema_support set migrations_min = 1000',
      'delete from schema_support',
    ].map((statement) => [who, statement] as const),
  ),
  ['worker', 'select from event_seal'],
  ['worker', "update site set endpoint = 'https://elsewhere'"],
  ['worker', 'update site set secret = secret'],
  ['worker', 'update site set fingerprint = fingerprint'],
  ['worker', 'insert into site select from site'],
  ['worker', 'delete from site'],
  ['worker', 'delete from job'],
  ['worker', 'delete from effect'],
  ['worker', 'update certificate set document = document'],
  ['worker', 'delete from certificate'],
  ['worker', 'update signing_key set public_key = public_key'],
  ['worker', 'insert into batch select from batch'],
  ['worker', 'delete from worker'],
  ['worker', 'update ledger_fact set value = value'],
  ['worker', 'select public.drover_end_stranded(0)'],
  ['worker', 'select from lab.rack'],
  ['api', "update job set result = '{}'"],
  ['api', "update job set checkpoint = '{}'"],
  ['api', 'update job set lease_until = now(), worker_id = null, lease_epoch = 1'],
  ['api', "insert into job (id, kind, result) values (gen_random_uuid(), 'x', '{}')"],
  ['api', 'delete from job'],
  ['api', 'delete from event'],
  ['api', "update access_token set role = 'admin'"],
  ['api', 'update access_token set hash = hash'],
  ['api', 'insert into certificate select from certificate'],
  ['api', 'update certificate set document = document'],
  ['api', 'update signing_key set public_key = public_key'],
  ['api', 'delete from signing_key'],
  ['api', 'insert into event_seal select from event_seal'],
  ['api', 'insert into worker select from worker'],
  ['api', 'insert into bullmq.job select from bullmq.job'],
  ['api', 'delete from bullmq.job'],
  ['api', 'select from self_test.marker'],
  ['api', 'select from lab.rack'],
  ['api', 'select public.drover_end_stranded(0)'],
  ['conductor', 'select secret from site'],
  ['conductor', 'select * from site'],
  ['conductor', 'update site set endpoint = endpoint'],
  ['conductor', 'select hash from access_token'],
  ['conductor', 'insert into access_token select from access_token'],
  ['conductor', 'update webhook set url = url'],
  ['conductor', 'update webhook set secret = secret'],
  ['conductor', 'insert into webhook select from webhook'],
  ['conductor', 'update setting set value = value'],
  ['conductor', 'insert into certificate select from certificate'],
  ['conductor', 'select from self_test.marker'],
  ['conductor', 'select from lab.rack'],
  ['lab', 'select from public.job'],
  ['lab', 'select secret from public.site'],
  ['lab', 'insert into public.event default values'],
  ['lab', 'select from bullmq.job'],
  ['lab', 'select from self_test.marker'],
] as const)('the %s has no right to: %s', async (who, statement) => {
  expect(await outcome(who, statement)).toBe('42501')
})

test('the lab makes and keeps its tables in its own schema', async () => {
  expect(await outcome('lab', 'create table lab.host (n int)')).toEqual({ done: null })
  expect(await outcome('lab', 'insert into lab.host values (1)')).toEqual({ done: 1 })
  expect(await outcome('lab', 'drop table lab.host')).toEqual({ done: null })
})

test('history is added to by each role that runs, and read by it', async () => {
  for (const who of ['api', 'conductor', 'worker'] as const)
    expect(
      await outcome(
        who,
        "insert into event (type, subject_type, subject_id, actor) values ('x', 'x', 'x', 'x')",
      ),
    ).toEqual({ done: 1 })
})

// promise: database-roles
test('no login is a superuser, may make roles or databases, or passes over row security', async () => {
  const powerful = await db`
    select rolname from pg_roles where rolname like 'drover\\_%'
      and (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)`
  expect(powerful).toEqual([])
  const groups =
    await db`select rolname from pg_roles where rolname like 'drover\\_%' and not rolcanlogin order by 1`
  expect(groups.map(({ rolname }) => rolname)).toEqual([
    'drover_api',
    'drover_conductor',
    'drover_lab',
    'drover_worker',
  ])
})

// promise: database-roles
test('every table, sequence and function is named in db/privileges.ts, and nothing that is not there', async () => {
  const things = await readOwnThings(owner)
  const named = (kind: string) => things.filter((thing) => thing.kind === kind).map(({ name }) => name)
  expect(named('table')).toEqual(Object.keys(tables).sort())
  expect(named('sequence')).toEqual(Object.keys(sequences).sort())
  for (const name of named('function')) expect(Object.keys(functions)).toContain(name)
})

test('a privilege that nobody named is taken away, and doing it again changes nothing', async () => {
  const privileges = () => db`
    select relname, relacl::text from pg_class where relnamespace = 'public'::regnamespace and relacl is not null
    order by relname`
  const before = await privileges()
  await db`grant all on access_token to drover_worker, public`
  await db`grant update (hash) on access_token to drover_lab`
  expect(await outcome('worker', 'select hash from access_token')).toEqual({ done: 0 })
  await grantPrivileges(owner, await findGroups(owner))
  expect(await outcome('worker', 'select hash from access_token')).toBe('42501')
  expect(await outcome('lab', 'update public.access_token set hash = hash')).toBe('42501')
  await grantPrivileges(owner, await findGroups(owner))
  expect(await privileges()).toEqual(before)
})

test('the conductor removes events by the function that looks at the floor, and in no other way', async () => {
  const call = `select public.drover_prune_events(1, 1, 'pruned', 0, ''::bytea, 'me', now(), ''::bytea, 1)`
  expect(await outcome('conductor', 'delete from event')).toBe('42501')
  expect(await outcome('conductor', 'update event_seal set pruned_at = now()')).toBe('42501')
  expect(await outcome('conductor', 'insert into event_prune select from event_prune')).toBe('42501')
  expect(await outcome('conductor', 'update event_floor set kept_days_min = 1')).toBe('42501')
  // Let in, and refused by what it was asked: raise_exception.
  expect(await outcome('conductor', call)).toBe('P0001')
  for (const who of ['api', 'worker', 'lab'] as const) expect(await outcome(who, call)).toBe('42501')
})

test('the era in which events are sealed is for migrate to say: no role begins another', async () => {
  await db`insert into event (type, subject_type, subject_id, actor) values ('x', 'x', 'x', 'x')`
  await untilReadable(db)
  await sealAll(db)
  for (const who of ['api', 'conductor'] as const)
    expect(await outcome(who, "update ledger_fact set value = '2' where name = 'era'")).toEqual({ done: 0 })
  await writeEvents(db, [{ reason: 'after the attempt' }])
  await sealAll(db)
  expect(await verifySeals(db, testSealer)).toMatchObject({ ok: true })
})

test('no role renames the installation, or says that the database is of another cluster', async () => {
  const facts = () => db`select name, value from ledger_fact where name <> 'bell-identity' order by name`
  const before = await facts()
  expect(before.map(({ name }) => name)).toEqual(['cluster', 'era', 'installation-id'])
  for (const who of ['api', 'conductor'] as const)
    expect(await outcome(who, "update ledger_fact set value = '2'")).toMatchObject({
      done: expect.any(Number),
    })
  expect(await facts()).toEqual(before)
  expect(await outcome('conductor', "insert into ledger_fact values ('bell-identity', 'x', now())")).toEqual({
    done: 1,
  })
  expect(
    await outcome('conductor', "update ledger_fact set value = 'y' where name = 'bell-identity'"),
  ).toEqual({ done: 1 })
})

test('a signing key that a stolen login of a worker adds is not signed with, and goes at the next rotation', async () => {
  const key = () => db.begin((tx) => installationKey(tx as unknown as Tx, testSealer))
  const { id } = await key()
  const added = "insert into signing_key (id, public_key, private_key) values ($$mine$$, 'x', 'x')"
  expect(await outcome('worker', added)).toEqual({ done: 1 })
  expect((await key()).id).toBe(id)
  const next = await db.begin((tx) => rotateSigningKey(tx as unknown as Tx, testSealer))
  expect((await key()).id).toBe(next.id)
})
