import { expect, test } from 'vitest'
import type { Scene } from '../stand-ins/scene.ts'
import { roles, takenOver } from './taken-over.ts'

/** Runs a text in the container of a role, with `url`, its own, and `sql`, signed in with it. */
const signedIn =
  (scene: () => Scene) =>
  (role: (typeof roles)[number], body: string): Promise<string> =>
    takenOver(scene).node(
      role,
      `import postgres from 'postgres'
       import { readFileSync } from 'node:fs'
       const url = new URL(readFileSync(process.env.DATABASE_URL_FILE, 'utf8').trim())
       const sql = postgres(url.href, { max: 1, onnotice: () => {} })
       const codeOf = (query) => query.then(() => 'done', (error) => error.code)
       ${body}
       await sql.end()`,
    )

/** What a stolen login of Postgres is worth, from inside the container that holds it. */
export const attackPostgres = (scene: () => Scene): void => {
  workIsBound(scene)
  loginsAreApart(scene)
}

const workIsBound = (scene: () => Scene): void => {
  const signed = signedIn(scene)
  // promise: stolen-container
  test('a worker taken over can do in Postgres what a worker may, and no more', async () => {
    const tries = [
      'select hash from access_token',
      'select secret from webhook',
      "update site set endpoint = 'https://elsewhere'",
      'delete from event',
      'truncate job',
      'create table mine (n int)',
      'create temporary table mine (n int)',
      'create schema mine',
      "copy job to program 'id'",
      "copy job from '/run/secrets/postgres_password'",
      "select pg_read_file('/run/secrets/postgres_password')",
      'set role drover_owner',
      'set role drover_api',
      'set session_replication_role = replica',
      'alter role current_user superuser',
    ]
    const answers = await signed(
      'worker',
      `console.log(await codeOf(sql.unsafe('select count(*) from job')))
       for (const text of ${JSON.stringify(tries)}) console.log(await codeOf(sql.unsafe(text)))`,
    )
    const [works, ...refused] = answers.split('\n')
    expect(works).toBe('done')
    expect(tries.map((text, n) => `${text}: ${refused[n]}`)).toEqual(tries.map((text) => `${text}: 42501`))
  })
}

const loginsAreApart = (scene: () => Scene): void => {
  const signed = signedIn(scene)
  test.each(roles)(
    '%s taken over: its password opens no other login, and no other database',
    async (role) => {
      const answers = await signed(
        role,
        `for (const user of ['drover', 'postgres', 'drover_owner', 'drover_api_login', 'drover_conductor_login',
         'drover_worker_login']) {
         for (const password of [url.password, '']) {
           if (user === url.username && password !== '') continue
           const other = new URL(url)
           Object.assign(other, { username: user, password })
           const tried = postgres(other.href, { max: 1, onnotice: () => {} })
           console.log(await codeOf(tried\`select 1\`))
           await tried.end()
         }
       }
       for (const database of ['postgres', 'template1']) {
         const other = new URL(url)
         other.pathname = database
         const tried = postgres(other.href, { max: 1, onnotice: () => {} })
         console.log(await codeOf(tried\`select 1\`))
         await tried.end()
       }`,
      )
      expect(answers.split('\n')).toEqual([...Array.from({ length: 11 }, () => '28P01'), '42501', '42501'])
    },
  )

  test('no running role signs in to Postgres as a superuser or as the owner', async () => {
    for (const role of roles) {
      const answer = await signed(
        role,
        `const [me] = await sql\`select current_user as name, rolsuper or rolcreaterole or rolcreatedb
           or rolreplication or rolbypassrls as mighty from pg_roles where rolname = current_user\`
         const [owned] = await sql\`select count(*)::int as things from pg_class
           where pg_has_role(current_user, relowner, 'usage') and relnamespace = 'public'::regnamespace\`
         console.log(me.name, me.mighty, owned.things)`,
      )
      expect(answer).toBe(`drover_${role}_login false 0`)
    }
    expect(await scene().fleet.logs()).not.toMatch(/signs in to Postgres as/)
  })
}
