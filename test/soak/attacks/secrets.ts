import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Scene } from '../stand-ins/scene.ts'
import { lines, type Service, services, takenOver } from './taken-over.ts'

const mounts: Readonly<Record<Service, readonly string[]>> = {
  api: ['admin_token', 'api_database_url', 'redis_url', 'secret_key'],
  conductor: ['conductor_database_url', 'redis_url', 'secret_key'],
  worker: ['redis_url', 'secret_key', 'worker_database_url'],
  postgres: ['postgres_password'],
  redis: ['redis_conf'],
}

/** What is secret in each file: of a URL its password, of Redis's setting the value. */
export const secretsIn = (dir: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(dir).map((name) => {
      const text = readFileSync(join(dir, name), 'utf8').trim()
      const secret = /^(postgres|redis):/.test(text)
        ? new URL(text).password
        : text.replace(/^requirepass /, '')
      if (secret.length < 32) throw new Error(`${name} holds no secret to look for.`)
      return [name, secret]
    }),
  )

/**
 * Environments and command lines of all processes. The health check of Redis hands its password to `redis-cli` by its
 * environment for a moment, inside the one container that has that password anyway.
 */
const processes = `for dir in /proc/[0-9]*; do
  tr '\\000' '\\n' < $dir/cmdline
  grep -q redis-cli $dir/comm || tr '\\000' '\\n' < $dir/environ
done 2>/dev/null; env`

/** Which secrets a container holds, and where they show. */
export const attackSecrets = (scene: () => Scene): void => {
  const { shell } = takenOver(scene)
  test.each(services)("%s taken over: it has its own secrets and no other role's", async (service) => {
    expect(lines(await shell(service, 'ls /run/secrets')).sort()).toEqual(mounts[service])
    const seen = `${await shell(service, 'cat /run/secrets/*')}\n${await shell(service, processes)}`
    const all = secretsIn(scene().secrets)
    // Redis and who rings it share one password, as the server of Postgres and its superuser do.
    const own = new Set(mounts[service].map((name) => all.get(name)))
    const shown = [...all].filter(([, secret]) => !own.has(secret) && seen.includes(secret))
    expect(shown.map(([name]) => name)).toEqual([])
    for (const secret of own)
      expect(seen.includes(secret ?? '?'), 'the search finds what is there').toBe(true)
  })

  test.each(services)('%s: no secret is in the environment or command line of a process', async (service) => {
    const seen = await shell(service, processes)
    expect(seen).toContain('PATH=')
    const shown = [...secretsIn(scene().secrets)].filter(([, secret]) => seen.includes(secret))
    expect(shown.map(([name]) => name)).toEqual([])
  })

  test('no secret shows in the settings, the process list or the log of a container', async () => {
    const { engine, fleet, secrets } = scene()
    const running = new Set(await fleet.containers())
    for (const name of await fleet.containers(undefined, { ended: true })) {
      const top = running.has(name) ? await engine.podman(['top', name, 'args']) : ''
      const seen = JSON.stringify(await fleet.inspect(name)) + top
      expect(seen).toContain('/run/secrets')
      const all = seen + (await engine.podman(['logs', name]))
      const shown = [...secretsIn(secrets)].filter(([, secret]) => all.includes(secret))
      expect(
        shown.map(([file]) => file),
        name,
      ).toEqual([])
    }
  })
}
