// Makes the secret files that docker-compose.yml mounts: `node src/cli/make-secrets.mjs [folder]`.
// Never overwrites: run it again after an upgrade and it adds only what is missing.

import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { printable } from '../print/printable.mjs'

const folder = resolve(process.argv[2] ?? 'secrets')
const random = () => randomBytes(32).toString('hex')

// The folder keeps other people of this machine out. The files in it can be read by whoever gets them mounted:
// Postgres, Redis and Drover run under three different users, none of them the one who owns the files.
mkdirSync(folder, { recursive: true, mode: 0o700 })
chmodSync(folder, 0o700)

/** What the file says; when there is none, it is made. */
const keep = (name, make) => {
  const path = join(folder, name)
  try {
    writeFileSync(path, `${make()}\n`, { flag: 'wx', mode: 0o444 })
    chmodSync(path, 0o444)
    process.stdout.write(`made  ${printable(path)}\n`)
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    process.stdout.write(`kept  ${printable(path)}\n`)
  }
  return readFileSync(path, 'utf8').trim()
}

/** The password in a URL that is there already: the store was made with it, so it must stay. */
const passwordIn = (name) => {
  try {
    return new URL(readFileSync(join(folder, name), 'utf8').trim()).password || undefined
  } catch {
    return undefined
  }
}

/** What an installation of the version before has: one URL for all, that of the server's superuser. */
const oldUrl = () => {
  try {
    return readFileSync(join(folder, 'database_url'), 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}

const postgresPassword = keep(
  'postgres_password',
  () => passwordIn('setup_database_url') ?? passwordIn('database_url') ?? random(),
)
const setupUrl = keep(
  'setup_database_url',
  () => oldUrl() ?? `postgres://drover:${postgresPassword}@postgres:5432/drover`,
)
// The same server and database as another user. Where there is no user who may make logins, `setup_database_url` is an
// empty file, and a person writes the others.
const urlOf = (user) => {
  const url = new URL(setupUrl || oldUrl() || 'postgres://postgres:5432/drover')
  url.username = user
  url.password = random()
  return url.href
}
keep('owner_database_url', () => urlOf('drover_owner'))
for (const role of ['api', 'conductor', 'worker'])
  keep(`${role}_database_url`, () => urlOf(`drover_${role}_login`))
const redisConf = keep('redis_conf', () => `requirepass ${passwordIn('redis_url') ?? random()}`)
keep('redis_url', () => `redis://:${redisConf.match(/^requirepass (\S+)$/m)?.[1] ?? ''}@redis:6379`)
keep('admin_token', () => `drover_${random()}`)
keep('secret_key', random)
