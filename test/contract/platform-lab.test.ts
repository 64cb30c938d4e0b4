import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { originalBlock } from '../../src/lab/model/disk-content.ts'
import { openHttp } from '../../src/platforms/http/platform-http.ts'
import { openLab } from '../../src/platforms/lab/lab.ts'
import type { Connection } from '../../src/platforms/ports/connection.ts'
import { capabilities, portOf } from '../../src/platforms/ports/ports.ts'
import type { NewImage } from '../../src/platforms/ports/templates.ts'
import { atEnd } from '../support/cleanup.ts'
import { createLab } from '../support/lab.ts'
import { seenFingerprint } from '../support/seen-fingerprint.ts'
import { describePlatform } from './platform.ts'
import {
  callOf,
  made,
  newMachine,
  newName,
  ownerOf,
  type PlatformUnderTest,
  type TestMachine,
} from './platform-suite/world.ts'

/** Tasks take a while, so that they can be seen running; a twentieth of what they take for people. */
const lab = await createLab({ tls: true, pace: 0.05 })

const connection: Connection = {
  kind: 'lab',
  endpoint: lab.endpoint('cloud'),
  username: 'drover',
  password: lab.password,
  ca: '',
  fingerprint: await seenFingerprint('127.0.0.1', Number(new URL(lab.url).port)),
  caller: 'contract',
  connectTimeoutMs: 10_000,
}

const admin = openLab(connection)
atEnd(() => admin.close())

/** What boots from a disk that begins with this. */
const guest = (agent: 'running' | 'not-installed') => ({
  hostname: 'guest-01',
  os: 'debian-12',
  agent,
  addresses: [['192.0.2.7']],
  ports: [22, 443],
  boot_ms: 200,
  shutdown_ms: 200,
  shutdown: 'obeys' as const,
  writes: null,
})

const capacity = 8 * 1024 * 1024

const machineWith = async (agent: 'running' | 'not-installed'): Promise<TestMachine> => {
  const nics = [{ mac: macOf(), network: 'bridge-shop', type: 'managed', vlan: '' }] as const
  const disks = [{ key: 'disk-0', capacity, pool: 'local' }]
  const wanted = newMachine(world, { nics, disks, owner: {} })
  const ref = await made(portOf(admin, 'machines').create(callOf(), wanted))
  const boot = originalBlock({ seed: 0, profile: { data: [], random: 0, boot: guest(agent) } }, 0)
  await portOf(admin, 'disks').write(callOf(), { machine: ref, disk: 'disk-0' }, 0, boot ?? Buffer.alloc(0))
  return { ref, name: wanted.machineName, disk: { key: 'disk-0', capacity } }
}

const macOf = (): string => `02:00:00${randomBytes(3).toString('hex').replaceAll(/(..)/g, ':$1')}`

const newImage = (): NewImage => {
  const content = randomBytes(3 * 1024 * 1024)
  const pieces = function* () {
    for (let at = 0; at < content.length; at += 50_000) yield content.subarray(at, at + 50_000)
  }
  return {
    templateName: newName('image'),
    folder: '/cloud/templates',
    project: 'default',
    pool: 'local',
    host: '',
    network: 'bridge-office',
    ovf: '',
    cpus: 1,
    memory: 512 * 1024 * 1024,
    disks: ['disk-0', 'disk-1'].map((id) => ({
      id,
      capacity: 16 * 1024 * 1024,
      size: content.length,
      format: 'raw' as const,
      open: () => Promise.resolve(Readable.from(pieces(), { objectMode: false })),
    })),
    owner: ownerOf(),
  }
}

const levers = openHttp({ ...connection, endpoint: lab.url })
atEnd(() => levers.close())

const pull = async (method: 'POST' | 'PATCH', path: string, body: unknown): Promise<void> => {
  const answer = await levers.request(callOf(), {
    method,
    path,
    headers: { authorization: `Bearer ${lab.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (answer.status >= 300) throw new Error(`The lab refused: ${answer.body.toString()}`)
}

const act = (what: Record<string, unknown>): Promise<void> =>
  pull('POST', '/lab/acts', { site: 'cloud', ...what })

const world: PlatformUnderTest = {
  connection,
  declares: capabilities,
  machine: () => machineWith('running'),
  machineWithoutAgent: () => machineWith('not-installed'),
  place: {
    folder: '/cloud/vm',
    project: 'default',
    pool: 'local',
    network: 'bridge-shop',
    host: 'node-1',
    otherHost: 'node-2',
  },
  scope: { name: '/cloud/templates', holds: (location) => location.startsWith('/cloud/templates/') },
  findsTasksBy: ['name', 'machine'],
  remembersNames: true,
  levers: {
    loseSessions: () => act({ act: 'session-loss' }),
    loseCursors: () => act({ act: 'cursor-loss' }),
    holdMoves: (machine, at) => pull('PATCH', `/lab/sites/cloud/instances/${machine}`, { move_stall_at: at }),
  },
}

describePlatform('lab', { ...world, newImage })
