// Makes the secret files that docker-compose.yml mounts: `node src/cli/make-secrets.mjs [folder]`.
// Never overwrites: run it again after an upgrade and it adds only what is missing.

import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

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
    process.stdout.write(`made  ${path}\n`)
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    process.stdout.write(`kept  ${path}\n`)
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

const postgresPassword = keep('postgres_password', () => passwordIn('database_url') ?? random())
keep('database_url', () => `postgres://drover:${postgresPassword}@postgres:5432/drover`)
const redisConf = keep('redis_conf', () => `requirepass ${passwordIn('redis_url') ?? random()}`)
keep('redis_url', () => `redis://:${redisConf.match(/^requirepass (\S+)$/m)?.[1] ?? ''}@redis:6379`)
keep('admin_token', () => `drover_${random()}`)
keep('secret_key', random)
