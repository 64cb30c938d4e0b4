import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { WireExtent } from '../../../src/platforms/lab/protocol.ts'
import { createLab, type SiteClient } from '../../support/lab.ts'

const lab = await createLab()
const block = 64 * 1024
const MiB = 1024 * 1024

const machine = (name: string, capacity: number) => ({
  name,
  project: '',
  host: '',
  folder: '',
  cpus: 1,
  memory: MiB,
  uuid: '',
  legacy_boot: false,
  secure_boot: false,
  nics: [],
  disks: [{ key: 'root', capacity, pool: 'local' }],
  owner: {},
})

interface Changes {
  readonly extents: readonly WireExtent[]
  readonly change_id: string
}

/** One disk of a machine, with calls that fail loudly. */
const diskOf = (site: SiteClient, ref: string, key = 'root') => {
  const base = `/instances/${ref}/disks/${key}`
  const ask = async (request: string, body?: Buffer) => {
    const answer = await site.call(request, body)
    if (answer.status >= 300)
      throw new Error(`${request} answered ${answer.status}: ${answer.bytes.toString()}`)
    return answer
  }
  return {
    base,
    read: async (offset: number, length: number, snapshot = '') =>
      (await ask(`GET ${base}/bytes?offset=${offset}&length=${length}&snapshot=${snapshot}`)).bytes,
    write: (offset: number, bytes: Buffer) => ask(`PUT ${base}/bytes?offset=${offset}`, bytes),
    changes: async (changeId: string, snapshot = '') =>
      (await ask(`GET ${base}/changes?change_id=${encodeURIComponent(changeId)}&snapshot=${snapshot}`))
        .json as Changes,
    extents: async (snapshot = '') => {
      const all: WireExtent[] = []
      for (let offset: number | null = 0; offset !== null; ) {
        const page = (await ask(`GET ${base}/extents?offset=${offset}&snapshot=${snapshot}`)).json as {
          extents: WireExtent[]
          next_offset: number | null
        }
        all.push(...page.extents)
        offset = page.next_offset
      }
      return all
    },
  }
}

const make = async (site: SiteClient, name: string, capacity: number) => {
  const ref = (await site.done('POST /instances', machine(name, capacity))).result ?? ''
  await site.done(`POST /instances/${ref}/reconfigure`, { change_tracking: true })
  return { ref, disk: diskOf(site, ref) }
}

const covers = (extents: readonly WireExtent[], offset: number): boolean =>
  extents.some((extent) => offset >= extent.offset && offset < extent.offset + extent.length)

const capacity = 8 * block
type Step =
  | { readonly do: 'write'; readonly offset: number; readonly length: number; readonly fill: number }
  | { readonly do: 'snapshot' }
  | { readonly do: 'revert' | 'remove'; readonly pick: number }

const steps = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('write' as const),
        offset: fc.integer({ min: 0, max: capacity - 1 }),
        length: fc.integer({ min: 1, max: 3 * block }),
        fill: fc.integer({ min: 0, max: 255 }),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ do: 'snapshot' as const }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constantFrom('revert' as const, 'remove' as const), pick: fc.nat(9) }),
    },
  ),
  { minLength: 4, maxLength: 14 },
)

const fill = (value: number, at = 0): Step => ({ do: 'write', offset: at, length: block, fill: value })

/** A block is written again over a snapshot, which then goes: the later bytes stay. */
const overwritten: Step[] = [fill(1), { do: 'snapshot' }, fill(2), { do: 'remove', pick: 0 }]

/** Two branches from one snapshot, whose own goes last. */
const branched: Step[] = [
  fill(1),
  { do: 'snapshot' },
  fill(2),
  fill(3, block),
  { do: 'snapshot' },
  { do: 'revert', pick: 0 },
  fill(4, 2 * block),
  { do: 'snapshot' },
  fill(5),
  { do: 'remove', pick: 0 },
]

/** What a disk should hold, kept as plain bytes. */
interface Model {
  bytes: Buffer
  snapshots: { ref: string; bytes: Buffer; mark: string }[]
  /** The bytes at each moment whose change id is still good. */
  marks: Map<string, Buffer>
}

const take = async (site: SiteClient, at: { ref: string; model: Model; step: Step }): Promise<void> => {
  const { ref, model, step } = at
  const disk = diskOf(site, ref)
  if (step.do === 'write') {
    const bytes = Buffer.alloc(Math.min(step.length, capacity - step.offset), step.fill)
    await disk.write(step.offset, bytes)
    model.bytes = Buffer.from(model.bytes)
    bytes.copy(model.bytes, step.offset)
  } else if (step.do === 'snapshot') {
    const task = await site.done(`POST /instances/${ref}/snapshots`, {
      name: 's',
      memory: false,
      quiesce: false,
    })
    const snapshot = task.result ?? ''
    const mark = (await disk.changes('*', snapshot)).change_id
    model.snapshots.push({ ref: snapshot, bytes: model.bytes, mark })
    model.marks.set(mark, model.bytes)
  } else {
    const chosen = model.snapshots[step.pick % Math.max(1, model.snapshots.length)]
    if (!chosen) return
    const path = `/instances/${ref}/snapshots/${chosen.ref}`
    if (step.do === 'revert') {
      await site.done(`POST ${path}/revert`)
      model.bytes = chosen.bytes
      model.marks.clear()
    } else {
      await site.done(`DELETE ${path}`)
      model.snapshots = model.snapshots.filter((one) => one !== chosen)
    }
  }
}

const agrees = async (site: SiteClient, ref: string, model: Model): Promise<void> => {
  const disk = diskOf(site, ref)
  expect((await disk.read(0, capacity)).equals(model.bytes)).toBe(true)
  for (const snapshot of model.snapshots)
    expect((await disk.read(0, capacity, snapshot.ref)).equals(snapshot.bytes)).toBe(true)
  const extents = await disk.extents()
  for (let at = 0; at < capacity; at += block)
    if (!model.bytes.subarray(at, at + block).equals(Buffer.alloc(block)))
      expect(covers(extents, at)).toBe(true)
  for (const [mark, then] of model.marks) {
    const changed = await disk.changes(mark)
    for (let at = 0; at < capacity; at += block)
      if (!model.bytes.subarray(at, at + block).equals(then.subarray(at, at + block)))
        expect(covers(changed.extents, at)).toBe(true)
  }
}

test('whatever is written, snapshotted, reverted and removed: bytes, snapshots and changed blocks are those of a plain model', async () => {
  const site = await lab.signIn('cloud')
  let n = 0
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      n += 1
      const { ref } = await make(site, `model-${n}`, capacity)
      const model: Model = { bytes: Buffer.alloc(capacity), snapshots: [], marks: new Map() }
      model.marks.set((await diskOf(site, ref).changes('*')).change_id, model.bytes)
      for (const step of sequence) await take(site, { ref, model, step })
      await agrees(site, ref, model)
      expect(await site.done(`DELETE /instances/${ref}`)).toMatchObject({ state: 'succeeded' })
    }),
    { numRuns: 12, examples: [[overwritten], [branched]] },
  )
  const [left] = await lab.database.db<{ count: number }[]>`
    select count(*)::int as count from lab.layer l where not exists (select from lab.disk d where d.layer = l.id)`
  expect(left?.count).toBe(0)
})

test('changed blocks name what was written and little else', async () => {
  const site = await lab.signIn('cloud')
  const { disk } = await make(site, 'exact', 1024 * MiB)
  await disk.write(10 * block, Buffer.alloc(block, 1))
  const { change_id } = await disk.changes('*')
  await disk.write(100 * block + 5, Buffer.alloc(10, 2))
  await disk.write(7 * block, Buffer.alloc(2 * block, 3))
  const changed = await disk.changes(change_id)
  expect(changed.extents).toEqual([
    { offset: 7 * block, length: 2 * block },
    { offset: 100 * block, length: block },
  ])
  expect((await disk.changes(changed.change_id)).extents).toEqual([])
})

test('a change id is lost when tracking begins anew, and a revert begins it anew', async () => {
  const site = await lab.signIn('cloud')
  const { ref, disk } = await make(site, 'lost', MiB)
  const { change_id: first } = await disk.changes('*')
  const { result: snapshot } = await site.done(`POST /instances/${ref}/snapshots`, {
    name: 's',
    memory: false,
    quiesce: false,
  })
  await site.done(`POST /instances/${ref}/snapshots/${snapshot}/revert`)
  const lost = await site.call(`GET ${disk.base}/changes?change_id=${encodeURIComponent(first)}`)
  expect([lost.status, lost.json]).toEqual([410, expect.objectContaining({ code: 'platform-cursor-lost' })])
  const { change_id: second } = await disk.changes('*')
  for (const change_tracking of [false, true])
    await site.done(`POST /instances/${ref}/reconfigure`, { change_tracking })
  expect((await site.call(`GET ${disk.base}/changes?change_id=${encodeURIComponent(second)}`)).status).toBe(
    410,
  )
})

test('a running guest writes: its disk differs later, its snapshot does not, and tracking tells where', async () => {
  const site = await lab.signIn('vcenter')
  const disk = diskOf(site, 'vm-103', '2000')
  const digest = async (snapshot = '') =>
    createHash('sha256')
      .update(await disk.read(0, 8 * MiB, snapshot))
      .digest('hex')
  const { result: snapshot } = await site.done('POST /instances/vm-103/snapshots', {
    name: 's',
    memory: false,
    quiesce: true,
  })
  const [then, { change_id }] = [await digest(snapshot ?? ''), await disk.changes('*', snapshot ?? '')]
  await lab.pass(5_000)
  expect(await digest()).not.toBe(then)
  expect(await digest(snapshot ?? '')).toBe(then)
  const { extents } = await disk.changes(change_id)
  expect(extents.length).toBeGreaterThan(0)
  expect(extents.every(({ offset, length }) => offset >= 16 * block && offset + length <= 48 * block)).toBe(
    true,
  )
  await site.done('POST /instances/vm-103/power', { verb: 'stop' })
  const off = await disk.changes('*')
  await lab.pass(60_000)
  expect((await disk.changes(off.change_id)).extents).toEqual([])
})

test('a disk of two terabytes costs nothing until it is written, and reads the same after a restart', async () => {
  const site = await lab.signIn('vcenter')
  const disk = diskOf(site, 'vm-105', '2001')
  const extents = await disk.extents()
  expect(extents.reduce((sum, { length }) => sum + length, 0)).toBeLessThan(16 * MiB)
  const [first] = extents
  const before = await disk.read(first?.offset ?? 0, MiB)
  expect(before.equals(Buffer.alloc(MiB))).toBe(false)
  expect(await disk.read(2 * 1024 ** 4 - 10, 10)).toEqual(Buffer.alloc(10))
  await lab.restart()
  expect((await disk.read(first?.offset ?? 0, MiB)).equals(before)).toBe(true)
})

test('storage counts what thin disks hold: a write takes room, going back and removing give it back', async () => {
  const site = await lab.signIn('cloud')
  const free = async () => {
    const { items } = (await site.call('GET /inventory')).json as {
      items: { type: string; facts?: { ref: string; free: number } }[]
    }
    return items.find(({ type, facts }) => type === 'storage' && facts?.ref === 'local')?.facts?.free ?? 0
  }
  const before = await free()
  const { ref, disk } = await make(site, 'thin', 1024 * MiB)
  expect(await free()).toBe(before)
  await disk.write(5, Buffer.alloc(block, 1))
  await disk.write(10, Buffer.alloc(10, 2))
  expect(await free()).toBe(before - 2 * block)
  const { result } = await site.done(`POST /instances/${ref}/snapshots`, {
    name: 's',
    memory: false,
    quiesce: false,
  })
  await disk.write(10 * block, Buffer.alloc(MiB, 3))
  expect(await free()).toBe(before - 2 * block - MiB)
  await site.done(`POST /instances/${ref}/snapshots/${result}/revert`)
  expect(await free()).toBe(before - 2 * block)
  await site.done(`DELETE /instances/${ref}`)
  expect(await free()).toBe(before)
})

test('a range beyond the end, too long or without length is refused, and so is a write to a running machine', async () => {
  const site = await lab.signIn('vcenter')
  const { base } = diskOf(site, 'vm-101', '2000')
  const refused = [
    `GET ${base}/bytes?offset=${20 * 1024 ** 3 - 1}&length=2`,
    `GET ${base}/bytes?offset=0&length=${16 * MiB + 1}`,
    `GET ${base}/bytes?offset=0&length=0`,
    `GET ${base}/bytes?offset=-1&length=1`,
  ]
  for (const request of refused) expect((await site.call(request)).status).toBe(422)
  expect((await site.call(`PUT ${base}/bytes?offset=0`, Buffer.alloc(1))).status).toBe(422)
})

test('a clone holds what its origin held, boots as the same guest, and goes its own way', async () => {
  const site = await lab.signIn('vcenter')
  const { result: clone } = await site.done('POST /instances/vm-112/clone', {
    name: 'copy',
    folder: '',
    owner: { job: '7' },
  })
  const [origin, copy] = [diskOf(site, 'vm-112', '2000'), diskOf(site, clone ?? '', '2000')]
  expect((await copy.read(0, MiB)).equals(await origin.read(0, MiB))).toBe(true)
  await copy.write(2 * block, Buffer.alloc(block, 9))
  await origin.write(3 * block, Buffer.alloc(block, 8))
  expect((await origin.read(2 * block, block)).equals(Buffer.alloc(block, 9))).toBe(false)
  expect((await copy.read(3 * block, block)).equals(Buffer.alloc(block, 8))).toBe(false)
  await site.done('DELETE /instances/vm-112')
  await site.done(`POST /instances/${clone}/power`, { verb: 'start' })
  expect((await site.call(`GET /instances/${clone}/guest`)).json).toMatchObject({
    agent: 'running',
    hostname: 'shop-test',
  })
})

test('a disk that no snapshot holds can be read only while its machine is off, and is not tracked', async () => {
  const site = await lab.signIn('vcenter')
  const { base } = diskOf(site, 'vm-202', '2000')
  const read = `GET ${base}/bytes?offset=0&length=${block}`
  expect(await site.call(read)).toMatchObject({ json: { code: 'platform-wrong-state' } })
  const taken = await site.done('POST /instances/vm-202/snapshots', {
    name: 'one',
    memory: false,
    quiesce: false,
  })
  expect(taken.state).toBe('succeeded')
  expect(await site.call(`${read}&snapshot=${taken.result}`)).toMatchObject({
    json: { failure: 'absent' },
  })
  await site.done('POST /instances/vm-202/power', { verb: 'stop' })
  expect((await site.call(read)).status).toBe(200)
  expect(await site.call(`GET ${base}/changes?change_id=*`)).toMatchObject({
    json: { code: 'platform-refused' },
  })
  await site.done('POST /instances/vm-202/power', { verb: 'start' })
})

test('of a raw device or mapping the lab has no bytes, on or off', async () => {
  const site = await lab.signIn('vcenter')
  const { base } = diskOf(site, 'vm-201', '2000')
  const read = `GET ${base}/bytes?offset=0&length=${block}`
  expect(await site.call(read)).toMatchObject({ json: { code: 'platform-refused' } })
  await site.done('POST /instances/vm-201/power', { verb: 'stop' })
  expect(await site.call(read)).toMatchObject({ json: { code: 'platform-refused' } })
})
