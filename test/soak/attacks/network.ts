import { expect, test } from 'vitest'
import type { Scene } from '../stand-ins/scene.ts'
import { lines, type Service, services, takenOver } from './taken-over.ts'

/** Where something listens. */
const doors = {
  postgres: 5432,
  redis: 6379,
  api: 7070,
  conductor: 7071,
  worker: 7071,
} as const satisfies Record<Service, number>

/** What each may open: the roles both stores, nobody another role. */
const reached: Readonly<Record<'api' | 'conductor' | 'worker', readonly Service[]>> = {
  api: ['postgres', 'redis'],
  conductor: ['postgres', 'redis'],
  worker: ['postgres', 'redis'],
}

interface Facts {
  readonly NetworkSettings: { readonly Networks: Record<string, { readonly IPAddress: string }> }
}

interface Bound {
  readonly HostConfig: { readonly PortBindings: Record<string, { readonly HostIp: string }[] | null> }
}

/** Tells which of `targets` (host:port) can be connected to. */
const knocks = (targets: readonly string[]) => `
  import { connect } from 'node:net'
  const open = (target) => new Promise((resolve) => {
    const [host, port] = target.split(':')
    const socket = connect({ host, port: Number(port), timeout: 3000 })
    const say = (yes) => { socket.destroy(); resolve(yes) }
    socket.once('connect', () => say(true)).once('error', () => say(false)).once('timeout', () => say(false))
  })
  const all = await Promise.all(${JSON.stringify(targets)}.map(async (target) => [target, await open(target)]))
  console.log(all.filter(([, yes]) => yes).map(([target]) => target).join('\\n'))`

/** Who reaches whom. */
export const attackNetwork = (scene: () => Scene): void => {
  const { node, shell, first } = takenOver(scene)
  const addressesOf = async (container: string): Promise<string[]> => {
    const { NetworkSettings } = await scene().fleet.inspect<Facts>(container)
    return Object.values(NetworkSettings.Networks).map((network) => network.IPAddress)
  }

  // promise: stolen-container
  test.each(Object.keys(reached) as (keyof typeof reached)[])(
    '%s taken over: it reaches the stores, and no other role by name or address',
    async (role) => {
      const me = await first(role)
      const targets = new Map<string, string>()
      for (const service of services) {
        targets.set(`${service}:${doors[service]}`, service)
        // Its twins are in its own networks, with the same secrets as it has itself.
        for (const container of await scene().fleet.containers(service))
          if (container !== me && service !== role)
            for (const address of await addressesOf(container))
              targets.set(`${address}:${doors[service]}`, service)
      }
      targets.delete(`${role}:${doors[role]}`)
      const open = lines(await node(role, knocks([...targets.keys()])))
      const names = new Set(open.map((target) => targets.get(target)))
      expect([...names].sort(), open.join(' ')).toEqual(reached[role])
    },
  )

  test('the stores have no way out', async () => {
    const routes = (service: Service) =>
      shell(service, 'cut -f2 /proc/net/route | grep -c "^00000000$" || true')
    expect(await routes('postgres')).toBe('0')
    expect(await routes('redis')).toBe('0')
    expect(Number(await routes('worker'))).toBeGreaterThan(0)
  })

  test('a container beside the roles has no way to the stores', async () => {
    const { engine, fleet, project } = scene()
    const targets: string[] = []
    for (const service of ['postgres', 'redis'] as const)
      for (const address of await addressesOf(await first(service)))
        targets.push(`${address}:${doors[service]}`)
    expect(targets.length).toBeGreaterThanOrEqual(7)
    const { ImageName } = await fleet.inspect<{ ImageName: string }>(await first('worker'))
    const network = `--network=${project}_worker-outside`
    const node = ['--entrypoint=node', ImageName, '--input-type=module', '-e']
    expect(await engine.podman(['run', '--rm', network, ...node, knocks(targets)])).toBe('')
  })

  test('the published port answers on this machine, and asks for a token', async () => {
    expect((await fetch(`${scene().address}/v1/jobs`)).status).toBe(401)
    const bound = await scene().fleet.inspect<Bound>(await first('api'))
    const hosts = Object.values(bound.HostConfig.PortBindings).flatMap((bindings) => bindings ?? [])
    expect(hosts.map(({ HostIp }) => HostIp)).toEqual(['127.0.0.1'])
    for (const service of services.filter((name) => name !== 'api')) {
      const facts = await scene().fleet.inspect<Bound>(await first(service))
      const ports = Object.values(facts.HostConfig.PortBindings).flatMap((bindings) => bindings ?? [])
      expect(ports, service).toEqual([])
    }
  })
}
