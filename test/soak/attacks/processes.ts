import { describe, expect, test } from 'vitest'
import type { Scene } from '../stand-ins/scene.ts'
import { lines, roles, type Service, services, takenOver } from './taken-over.ts'

/**
 * Where a container may write: its tmpfs, its volumes, and what the engine gives everybody (podman gives those who may
 * not write their root file system a tmpfs on `/var/tmp` too).
 */
const writable: Readonly<Record<Service, readonly string[]>> = {
  api: ['/dev/mqueue', '/dev/shm', '/tmp', '/var/tmp'],
  conductor: ['/dev/mqueue', '/dev/shm', '/tmp', '/var/tmp'],
  worker: ['/dev/mqueue', '/dev/shm', '/tmp', '/var/tmp'],
  postgres: ['/dev/mqueue', '/dev/shm', '/tmp', '/var/lib/postgresql', '/var/run/postgresql', '/var/tmp'],
  redis: ['/data', '/dev/mqueue', '/dev/shm', '/tmp', '/var/tmp'],
}
const mebi = 1024 * 1024
const limits: Readonly<Record<Service, { readonly memory: number; readonly pids: number }>> = {
  api: { memory: 512 * mebi, pids: 128 },
  conductor: { memory: 512 * mebi, pids: 128 },
  worker: { memory: 1024 * mebi, pids: 256 },
  postgres: { memory: 1024 * mebi, pids: 600 },
  redis: { memory: 768 * mebi, pids: 64 },
}

/** Of every process in the container, and of the one that asks. */
const field = (name: string) => `cat /proc/[0-9]*/status | sed -n 's/^${name}:[[:space:]]*//p' | sort -u`

/** What the processes of a container are and may do. */
export const attackProcesses = (scene: () => Scene): void => {
  const { shell } = takenOver(scene)
  describe.each(services)('%s taken over', (service) => {
    test(`${service}: no process is root or in the group of root`, async () => {
      const users = lines(await shell(service, field('[UG]id')))
      expect(users.length).toBeGreaterThan(0)
      for (const ids of users) expect(ids).toMatch(/^[1-9]\d*(\t[1-9]\d*){3}$/)
      for (const group of (await shell(service, 'id -G')).split(' ')) expect(group).not.toBe('0')
    })

    test(`${service}: no process has a capability or can get one`, async () => {
      expect(await shell(service, field('Cap[A-Z][a-z]*'))).toBe('0'.repeat(16))
    })

    test(`${service}: no process can gain a privilege by what it starts`, async () => {
      expect(await shell(service, field('NoNewPrivs'))).toBe('1')
    })

    test(`${service}: the system calls of every process are filtered`, async () => {
      expect(await shell(service, field('Seccomp'))).toBe('2')
    })

    test(`${service}: no process leaves a core file`, async () => {
      const limit = await shell(
        service,
        "cat /proc/[0-9]*/limits | sed -n 's/^Max core file size *//p' | sort -u",
      )
      expect(limit.split(/ +/).slice(0, 2)).toEqual(['0', '0'])
    })
  })
}

/** Where the processes of a container can write, and how much they can take. */
export const attackPlaces = (scene: () => Scene): void => {
  const { shell } = takenOver(scene)
  describe.each(services)('%s taken over', (service) => {
    test(`${service}: nothing can be written but tmpfs and volumes`, async () => {
      const mounted = await shell(service, 'awk \'$2 == "/" { print $4 }\' /proc/mounts')
      expect(mounted.split(',')).toContain('ro')
      const places = await shell(
        service,
        'while read -r _ place _; do [ -w "$place" ] && [ ! -c "$place" ] && echo "$place"; done < /proc/mounts; true',
      )
      const found = lines(places).filter((place) => !/^\/(proc|dev)(\/(pts(\/\d+)?|console))?$/.test(place))
      expect([...new Set(found)].sort()).toEqual(writable[service])
      const onRoot = lines(await shell(service, 'find / -xdev -writable ! -type l 2>/dev/null; true'))
      expect(onRoot.filter((place) => !writable[service].includes(place))).toEqual([])
    })

    test(`${service}: no device and no socket of the machine is there`, async () => {
      // A mounted file looks to `find` like the empty one below it.
      const found = await shell(
        service,
        `find / -path /proc -prune -o \\( -type b -o -type s \\) -print 2>/dev/null
         while read -r _ place _; do [ -S "$place" ] || [ -b "$place" ] && echo "$place"; done < /proc/mounts; true`,
      )
      // Postgres' own, in its tmpfs.
      expect(lines(found)).toEqual(service === 'postgres' ? ['/var/run/postgresql/.s.PGSQL.5432'] : [])
    })

    test(`${service}: memory and processes are limited`, async () => {
      const text = await shell(
        service,
        `cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null
         cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; true`,
      )
      expect(lines(text)).toEqual([String(limits[service].memory), String(limits[service].pids)])
    })
  })

  test.each(roles)('%s: its own code belongs to root, and Node is the one of the image', async (service) => {
    expect(await shell(service, 'find /app \\( ! -user root -o -perm /022 \\) ! -type l')).toBe('')
    expect(await shell(service, 'node --version')).toMatch(/^v24\./)
  })
}
