import { expect, test } from 'vitest'
import { createLab, type SiteClient, type TestLab } from '../../support/lab.ts'

interface Overlap {
  readonly identity: string
  readonly machines: readonly { readonly site: string; readonly machine: string }[]
  readonly from: string
  readonly to: string | null
}

const overlaps = async (lab: TestLab, query: string) =>
  ((await lab.admin(`GET /lab/overlaps?${query}`)).json as { overlaps: Overlap[] }).overlaps

const uuidOf = async (site: SiteClient, ref: string) =>
  ((await site.call(`GET /instances/${ref}`)).json as { facts: { uuid: string } }).facts.uuid

/** A machine on the target that says it is the one of the source. */
const copyOf = async (site: SiteClient, uuid: string, connected = true) =>
  (
    await site.done('POST /instances', {
      name: `copy-${connected}`,
      project: '',
      host: '',
      folder: '',
      cpus: 1,
      memory: 1024 ** 3,
      uuid,
      legacy_boot: false,
      secure_boot: false,
      nics: [{ mac: '', network: 'bridge-shop', type: 'managed', vlan: '', connected }],
      disks: [],
      owner: {},
    })
  ).result ?? ''

const turn = (site: SiteClient, ref: string, verb: string) =>
  site.done(`POST /instances/${ref}/power`, { verb })

test('two running copies of one machine are found, with who and from when to when', async () => {
  const lab = await createLab()
  const [source, target] = [await lab.signIn('vcenter'), await lab.signIn('cloud')]
  const uuid = await uuidOf(source, 'vm-101')
  const copy = await copyOf(target, uuid)
  expect(await overlaps(lab, `identity=${uuid}`)).toEqual([])
  await turn(target, copy, 'start')
  expect(await overlaps(lab, `identity=${uuid}`)).toEqual([
    expect.objectContaining({ identity: uuid, to: null }),
  ])
  await lab.pass(5_000)
  await turn(source, 'vm-101', 'stop')
  await turn(source, 'vm-102', 'stop')
  const [found, ...more] = await overlaps(lab, 'by=uuid')
  expect(more).toEqual([])
  expect(found?.machines).toEqual([
    { site: 'cloud', machine: copy },
    { site: 'vcenter', machine: 'vm-101' },
  ])
  expect(Date.parse(found?.to ?? '') - Date.parse(found?.from ?? '')).toBeGreaterThanOrEqual(5_000)
})

test('off before on is no overlap, and neither is a copy without a network, until it gets one', async () => {
  const lab = await createLab()
  const [source, target] = [await lab.signIn('vcenter'), await lab.signIn('cloud')]
  const uuid = await uuidOf(source, 'vm-101')
  const copy = await copyOf(target, uuid, false)
  await turn(target, copy, 'start')
  expect(await overlaps(lab, `identity=${uuid}`)).toEqual([])
  expect(await overlaps(lab, `identity=${uuid}&any_network=true`)).toHaveLength(1)
  const nics = [{ mac: '', network: 'bridge-shop', type: 'managed', vlan: '' }]
  await target.done(`POST /instances/${copy}/reconfigure`, { nics })
  await lab.pass(1_000)
  expect(await overlaps(lab, `identity=${uuid}`)).toHaveLength(1)
  const other = await uuidOf(source, 'vm-102')
  await turn(source, 'vm-102', 'stop')
  const second = await copyOf(target, other)
  await turn(target, second, 'start')
  await lab.pass(1_000)
  await turn(target, second, 'stop')
  await turn(source, 'vm-102', 'start')
  await lab.pass(1_000)
  expect(await overlaps(lab, `identity=${other}&any_network=true`)).toEqual([])
})

test('a clone that runs beside its origin overlaps by lineage, not by UUID', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter')
  const uuid = await uuidOf(site, 'vm-104')
  const { result } = await site.done('POST /instances/vm-104/clone', { name: 'again', folder: '', owner: {} })
  await turn(site, result ?? '', 'start')
  await lab.pass(1_000)
  expect(await overlaps(lab, 'by=uuid')).toEqual([])
  expect(await overlaps(lab, `by=lineage&identity=${uuid}`)).toHaveLength(1)
})

test('the power log tells each change with its moment, its reason and its host', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter', { caller: 'worker-3' })
  const uuid = await uuidOf(site, 'vm-101')
  await site.done('POST /instances/vm-101/power', { verb: 'stop' }, { name: 'stop it' })
  const { power } = (await lab.admin(`GET /lab/power?uuid=${uuid}`)).json as {
    power: Record<string, unknown>[]
  }
  expect(power).toEqual([
    expect.objectContaining({ running: true, why: 'world', connected: true }),
    expect.objectContaining({ running: false, why: 'worker-3: stop (stop it)', machine: 'vm-101' }),
  ])
})

test('every call is on record: who, what, which machine, under which name, which fault, what came of it', async () => {
  const lab = await createLab()
  const site = await lab.signIn('vcenter', { caller: 'worker-1' })
  await site.call('POST /instances/vm-101/power', { verb: 'start' }, { name: 'n1' })
  await site.call('GET /instances/vm-404')
  await lab.admin('POST /lab/faults', { kind: 'lost-answer', call: 'stop' })
  await site.call('POST /instances/vm-102/power', { verb: 'stop' }, { name: 'n2' }).catch(() => {})
  await lab.restart()
  const { calls } = (await lab.admin('GET /lab/calls?site=vcenter')).json as {
    calls: Record<string, unknown>[]
  }
  expect(calls).toEqual([
    expect.objectContaining({ call: 'login', status: 201, outcome: 'ok', caller: 'worker-1', fault: null }),
    expect.objectContaining({
      call: 'start',
      machine: 'vm-101',
      name: 'n1',
      status: 409,
      outcome: 'platform-wrong-state',
    }),
    expect.objectContaining({ call: 'instance', machine: 'vm-404', status: 404, outcome: 'platform-absent' }),
    expect.objectContaining({
      call: 'stop',
      name: 'n2',
      status: null,
      fault: 'lost-answer',
      outcome: 'no answer',
    }),
  ])
  const by = async (query: string) =>
    ((await lab.admin(`GET /lab/calls?${query}`)).json as { calls: unknown[] }).calls
  expect(await by('machine=vm-102')).toHaveLength(1)
  expect(await by('call=start&caller=worker-1&name=n1')).toHaveLength(1)
  expect(await by(`after=${calls[1]?.n}`)).toHaveLength(2)
  expect(JSON.stringify(calls)).not.toContain(lab.password)
})
