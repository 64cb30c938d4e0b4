import { execFile } from 'node:child_process'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig } from '../../../src/config/config.ts'
import { createSealer } from '../../../src/seal/seal.ts'
import { atEnd } from '../../support/cleanup.ts'
import { repositoryRoot } from '../../support/processes.ts'
import { freePort, tempDir } from '../../support/temp.ts'

const run = promisify(execFile)
const text = (name: string) => readFileSync(join(repositoryRoot, name), 'utf8')

interface Service {
  readonly image: string
  readonly user?: string
  readonly command?: string[]
  readonly read_only?: boolean
  readonly restart?: string
  readonly cap_drop?: string[]
  readonly security_opt?: string[]
  readonly ulimits?: Record<string, number>
  readonly tmpfs?: string[]
  readonly logging?: { options?: Record<string, string> }
  readonly mem_limit?: string
  readonly cpus?: number | string
  readonly pids_limit?: number
  readonly healthcheck?: { test?: string[]; disable?: boolean; interval?: string; timeout?: string }
  readonly environment?: Record<string, string>
  readonly secrets?: string[]
  readonly networks?: string[]
  readonly ports?: string[]
  readonly container_name?: string
  readonly depends_on?: Record<string, { condition: string }>
}

interface ComposeFile {
  readonly services: Record<string, Service>
  readonly networks: Record<string, { internal?: boolean }>
  readonly secrets: Record<string, { file: string }>
}

const compose = parse(text('docker-compose.yml'), { merge: true }) as ComposeFile
const services = Object.entries(compose.services)
const service = (name: string): Service => {
  const found = compose.services[name]
  if (!found) throw new Error(`docker-compose.yml has no service ${name}.`)
  return found
}

describe('docker-compose.yml', () => {
  test('starts Postgres, Redis, one migration, the API, conductors and workers', () => {
    expect(services.map(([name]) => name).sort()).toEqual([
      'api',
      'conductor',
      'migrate',
      'postgres',
      'redis',
      'worker',
    ])
  })

  test.each(services)('%s runs without privileges on a read-only root file system', (_name, facts) => {
    expect(facts.read_only).toBe(true)
    expect(facts.cap_drop).toEqual(['ALL'])
    expect(facts.security_opt).toContain('no-new-privileges:true')
    expect(facts.ulimits?.core).toBe(0)
    expect(facts.user).toMatch(/^(postgres|redis|1000:1000)$/)
    expect(facts.tmpfs?.every((mount) => mount.includes('size='))).toBe(true)
  })

  test.each(services)('%s has limits on memory, processors, processes and logs', (_name, facts) => {
    expect(facts.mem_limit).toMatch(/\d+[mg]\}?$/)
    expect(String(facts.cpus)).toMatch(/^(\d+(\.\d+)?|\$\{[A-Z_]+:-\d+(\.\d+)?\})$/)
    expect(facts.pids_limit).toBeGreaterThan(0)
    expect(facts.logging?.options).toMatchObject({ 'max-size': '10m', 'max-file': '5' })
  })

  test.each(services)('%s has a health check and restarts, unless it runs once', (name, facts) => {
    if (name === 'migrate') {
      expect(facts).toMatchObject({ restart: 'no', healthcheck: { disable: true } })
      return
    }
    expect(facts.restart).toBe('unless-stopped')
    expect(facts.healthcheck?.test?.length).toBeGreaterThan(1)
    expect(facts.healthcheck).toMatchObject({ interval: expect.any(String), timeout: expect.any(String) })
  })

  test.each(services)('%s names an exact version of its image', (_name, facts) => {
    expect(facts.image).toMatch(/:\d+\.\d+[\w.-]*\}$/)
    expect(facts.image).not.toContain('latest')
  })

  test('one version is built: the one of package.json', () => {
    const { version } = JSON.parse(text('package.json')) as { version: string }
    expect(service('worker').image).toContain(`drover:${version}}`)
    expect(text('Dockerfile')).toContain(`ARG VERSION=${version}\n`)
  })

  test('no secret is written in it: each comes from a file that it declares', () => {
    for (const [name, facts] of services) {
      const values = Object.entries(facts.environment ?? {})
      for (const [key, value] of values) {
        expect(`${key}=${value}`).not.toMatch(/\/\/[^/]*:[^/]*@/)
        // Where people find Drover is what everybody may know.
        if (!/PASSWORD|TOKEN|SECRET|_URL/.test(key) || key === 'DROVER_PUBLIC_URL') continue
        expect(key).toMatch(/_FILE$/)
        const secret = value.replace('/run/secrets/', '')
        expect(facts.secrets, `${name} mounts what ${key} names`).toContain(secret)
      }
      for (const secret of facts.secrets ?? []) expect(Object.keys(compose.secrets)).toContain(secret)
    }
  })

  test('only the API holds the admin token', () => {
    const holders = services.filter(([, facts]) => facts.secrets?.includes('admin_token'))
    expect(holders.map(([name]) => name)).toEqual(['api'])
  })

  test("each role holds its own login of Postgres, and nobody but `migrate` another one's", () => {
    const holds = (name: string) =>
      service(name).secrets?.filter((secret) => secret.endsWith('_database_url'))
    for (const name of ['api', 'conductor', 'worker']) expect(holds(name)).toEqual([`${name}_database_url`])
    expect(holds('migrate')).toHaveLength(5)
    expect(service('migrate').secrets).toHaveLength(6)
    expect(service('migrate').secrets).toContain('secret_key')
    expect(holds('postgres')).toEqual([])
  })

  test('no process may leave a core file', () => {
    for (const [name, facts] of services) expect(facts.ulimits, name).toMatchObject({ core: 0 })
  })

  test('the stores are on internal networks only and publish nothing', () => {
    for (const name of ['postgres', 'redis']) {
      const networks = service(name).networks ?? []
      expect(networks.length).toBeGreaterThan(0)
      for (const network of networks) expect(compose.networks[network], network).toEqual({ internal: true })
      expect(service(name).ports).toBeUndefined()
    }
  })

  test('no two roles share a network', () => {
    const shared = Object.keys(compose.networks).filter(
      (network) =>
        ['migrate', 'api', 'conductor', 'worker'].filter((name) => service(name).networks?.includes(network))
          .length !== 1,
    )
    expect(shared).toEqual([])
    expect(service('redis').networks).not.toContain('migrate-stores')
  })

  test('workers can be scaled: no name and no port of their own', () => {
    expect(service('worker').container_name).toBeUndefined()
    expect(service('worker').ports).toBeUndefined()
  })

  test('the API is published on loopback unless an operator says otherwise', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the compose file's own syntax.
    expect(service('api').ports).toEqual(['${DROVER_PUBLISH:-127.0.0.1:7070}:7070'])
  })

  test('no role starts before the stores are healthy and the schema is migrated', () => {
    for (const name of ['api', 'conductor', 'worker'])
      expect(service(name).depends_on).toEqual({
        postgres: { condition: 'service_healthy' },
        redis: { condition: 'service_healthy' },
        migrate: { condition: 'service_completed_successfully' },
      })
  })

  test('Redis never evicts and keeps an append-only file', () => {
    const words = service('redis').command ?? []
    const following = (name: string) => words[words.indexOf(name) + 1]
    expect(following('--maxmemory-policy')).toBe('noeviction')
    expect(following('--appendonly')).toBe('yes')
    expect(following('--appendfsync')).toBe('everysec')
  })
})

describe('docker-compose.old-keys.yml', () => {
  const over = parse(text('docker-compose.old-keys.yml'), { merge: true }) as ComposeFile

  test('gives the keys of a rotation to everybody who has the secret key, from a file, and changes nothing else', () => {
    const holders = services.filter(([, facts]) => facts.secrets?.includes('secret_key'))
    expect(Object.keys(over.services).sort()).toEqual(holders.map(([name]) => name).sort())
    for (const facts of Object.values(over.services))
      expect(facts).toEqual({
        environment: { DROVER_SECRET_KEYS_OLD_FILE: '/run/secrets/secret_keys_old' },
        secrets: ['secret_keys_old'],
      })
    const file = compose.secrets.secret_key?.file.replace(/secret_key$/, 'secret_keys_old')
    expect(over.secrets).toEqual({ secret_keys_old: { file } })
    for (const name of Object.keys(over.secrets)) expect(compose.secrets).not.toHaveProperty(name)
  })

  test('what replaces a key runs in the container of `migrate`, which has the owner and the key', () => {
    expect(service('migrate').environment).toMatchObject({
      DATABASE_URL_FILE: '/run/secrets/owner_database_url',
      DROVER_SECRET_KEY_FILE: '/run/secrets/secret_key',
    })
    expect(text('Dockerfile')).toContain('ENTRYPOINT ["node", "src/roles/main.ts"]')
    expect(text('docs/production.md')).toContain('docker compose run --rm migrate rekey')
    expect(text('docs/production.md')).toContain('docker compose run --rm migrate repair-seals')
  })
})

describe('Dockerfile', () => {
  const lines = text('Dockerfile').split('\n')

  test('builds on an exact minor version that a build argument can replace', () => {
    expect(lines).toContainEqual(expect.stringMatching(/^ARG NODE_IMAGE=\S+\/node:24\.\d+-bookworm-slim$/))
    const bases = lines.filter((line) => line.startsWith('FROM '))
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the Dockerfile's own syntax.
    expect(bases.every((line) => line.startsWith('FROM ${NODE_IMAGE} AS '))).toBe(true)
  })

  test('ends as a user that is not root, by number', () => {
    expect(lines.filter((line) => line.startsWith('USER ')).at(-1)).toMatch(/^USER [1-9]\d*:[1-9]\d*$/)
  })

  test('takes only what it names: the builder sees no other file', () => {
    const allowed = text('.dockerignore').split('\n')
    expect(allowed.filter((line) => line !== '' && !line.startsWith('#'))[0]).toBe('*')
    const copied = lines
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from'))
      .flatMap((line) => line.split(' ').slice(1, -1))
    for (const name of copied) expect(allowed).toContain(`!${name}`)
  })
})

describe('make-secrets', () => {
  const make = async (folder: string) =>
    (await run(process.execPath, ['src/cli/make-secrets.mjs', folder], { cwd: repositoryRoot })).stdout

  test('makes what the compose file mounts, in a folder that only its owner may enter', async () => {
    const folder = join(await tempDir('secrets'), 'secrets')
    await make(folder)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    for (const [name, { file }] of Object.entries(compose.secrets)) {
      expect(file).toBe(`\${DROVER_SECRETS:-./secrets}/${name}`)
      expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o444)
    }
  })

  test('makes values that Drover accepts and that agree with each other', async () => {
    const folder = await tempDir('secrets')
    await make(folder)
    const fileOf = (value: string) => value.replace('/run/secrets', folder)
    const environment = Object.entries(service('api').environment ?? {})
      .filter(([key]) => key.endsWith('_FILE'))
      .map(([key, value]) => [key, fileOf(value)])
    const config = readConfig(Object.fromEntries(environment))
    const read = (name: string) => readFileSync(join(folder, name), 'utf8').trim()
    expect(new URL(config.databaseUrl ?? '').username).toBe('drover_api_login')
    expect(new URL(read('setup_database_url')).password).toBe(read('postgres_password'))
    const urls = ['setup', 'owner', 'api', 'conductor', 'worker'].map((name) => read(`${name}_database_url`))
    expect(new Set(urls.map((url) => new URL(url).password)).size).toBe(5)
    expect(new Set(urls.map((url) => new URL(url).host + new URL(url).pathname)).size).toBe(1)
    expect(`requirepass ${new URL(config.redisUrl ?? '').password}`).toBe(read('redis_conf'))
    expect(config.adminToken).toBe(read('admin_token'))
    const sealer = createSealer(config.secretKey ?? '')
    expect(sealer.open(sealer.seal('kept', ['thing']), ['thing'])).toBe('kept')
  })

  test('run again, it changes nothing and adds what is missing so that it fits the rest', async () => {
    const folder = await tempDir('secrets')
    await make(folder)
    const before = readFileSync(join(folder, 'setup_database_url'), 'utf8')
    for (const name of ['postgres_password', 'redis_conf']) rmSync(join(folder, name))
    const said = await make(folder)
    expect(readFileSync(join(folder, 'setup_database_url'), 'utf8')).toBe(before)
    expect(said).toContain('kept')
    const read = (name: string) => readFileSync(join(folder, name), 'utf8').trim()
    expect(read('postgres_password')).toBe(new URL(before.trim()).password)
    expect(read('redis_conf')).toBe(`requirepass ${new URL(read('redis_url')).password}`)
  })
})

describe('make-secrets in a folder of the version before', () => {
  test('keeps the one URL there was as that of the administrator, and adds logins for the same database', async () => {
    const folder = await tempDir('secrets')
    writeFileSync(join(folder, 'database_url'), 'postgres://drover:kept@db.example:5433/fleet\n')
    await run(process.execPath, ['src/cli/make-secrets.mjs', folder], { cwd: repositoryRoot })
    const read = (name: string) => readFileSync(join(folder, name), 'utf8').trim()
    expect(read('setup_database_url')).toBe('postgres://drover:kept@db.example:5433/fleet')
    expect(read('postgres_password')).toBe('kept')
    expect(read('worker_database_url')).toMatch(
      /^postgres:\/\/drover_worker_login:[0-9a-f]{64}@db\.example:5433\/fleet$/,
    )
  })
})

describe('the health check of a container', () => {
  const check = async (env: NodeJS.ProcessEnv, args: string[] = []) => {
    const options = { cwd: repositoryRoot, env: { PATH: process.env.PATH, ...env } }
    return run(process.execPath, ['src/cli/healthcheck.mjs', ...args], options).then(
      () => 0,
      (error: { code: number }) => error.code,
    )
  }

  const serve = async (answers: Record<string, number>): Promise<string> => {
    const server = createServer((request, response) => {
      response.writeHead(answers[request.url ?? ''] ?? 404).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    atEnd(() => server.close())
    return String((server.address() as AddressInfo).port)
  }

  test('passes when the API port or the health port answers', async () => {
    const alive = await serve({ '/healthz': 200 })
    const nobody = String(await freePort())
    expect(await check({ DROVER_PORT: alive, DROVER_HEALTH_PORT: nobody })).toBe(0)
    expect(await check({ DROVER_PORT: nobody, DROVER_HEALTH_PORT: alive })).toBe(0)
  })

  test('fails when nobody answers, and when the answer is not a good one', async () => {
    const nobody = String(await freePort())
    const sick = await serve({ '/healthz': 503 })
    expect(await check({ DROVER_PORT: nobody, DROVER_HEALTH_PORT: nobody })).toBe(1)
    expect(await check({ DROVER_PORT: sick, DROVER_HEALTH_PORT: nobody })).toBe(1)
  })

  test('asks for readiness when told to', async () => {
    const port = await serve({ '/healthz': 200, '/readyz': 503 })
    expect(await check({ DROVER_PORT: port, DROVER_HEALTH_PORT: port })).toBe(0)
    expect(await check({ DROVER_PORT: port, DROVER_HEALTH_PORT: port }, ['/readyz'])).toBe(1)
  })
})
