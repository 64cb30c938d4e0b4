import { expect, test } from 'vitest'
import { createLab, type LabAnswer, type SiteClient, type TestLab } from '../../support/lab.ts'
import { until } from '../../support/wait.ts'

const lab = await createLab()

const withFault = async (fault: Record<string, unknown>, work: () => Promise<void>, on: TestLab = lab) => {
  const set = await on.admin('POST /lab/faults', fault)
  expect(set.status).toBe(201)
  await work()
  await on.admin('DELETE /lab/faults')
}

const codeOf = (answer: LabAnswer) => (answer.json as { code?: string }).code ?? answer.status
const struckBy = async (id: number) => {
  const { faults } = (await lab.admin('GET /lab/faults')).json as { faults: { id: number; struck: number }[] }
  return faults.find((fault) => fault.id === id)?.struck
}
const about = (site: SiteClient) => site.call('GET /about')
const failsToAnswer = async (call: Promise<LabAnswer>) =>
  await call.then(
    (answer) => `status ${answer.status}`,
    () => 'no answer',
  )

test('an error strikes the calls it names, so often as it was told, and nobody else', async () => {
  const site = await lab.signIn('vcenter')
  const other = await lab.signIn('cloud')
  const fault = {
    kind: 'error',
    code: 'platform-overloaded',
    call: 'about',
    site: 'vcenter',
    skip: 1,
    times: 2,
  }
  await withFault(fault, async () => {
    const codes: unknown[] = []
    for (let n = 0; n < 5; n += 1) codes.push(codeOf(await about(site)))
    expect(codes).toEqual([200, 'platform-overloaded', 'platform-overloaded', 200, 200])
    expect((await about(other)).status).toBe(200)
    const { faults } = (await lab.admin('GET /lab/faults')).json as {
      faults: { seen: number; struck: number }[]
    }
    expect(faults).toEqual([expect.objectContaining({ seen: 5, struck: 2 })])
  })
})

test('chance follows from the seed: the same calls are struck again, and about as many as were asked for', async () => {
  const site = await lab.signIn('vcenter')
  const run = async (seed: number): Promise<string> => {
    let struck = ''
    await withFault({ kind: 'error', call: 'about', probability: 0.3, seed }, async () => {
      for (let n = 0; n < 60; n += 1) struck += (await about(site)).status === 200 ? '.' : 'x'
    })
    return struck
  }
  const first = await run(7)
  expect(await run(7)).toBe(first)
  expect(await run(8)).not.toBe(first)
  expect(first.split('x').length - 1).toBeGreaterThan(6)
  expect(first.split('x').length - 1).toBeLessThan(35)
})

test('a lost answer comes after the effect: the caller hears nothing, and the thing was done', async () => {
  const site = await lab.signIn('vcenter')
  await withFault({ kind: 'lost-answer', call: 'stop', machine: 'vm-104', times: 1 }, async () => {
    const call = site.call('POST /instances/vm-104/power', { verb: 'stop' }, { name: 'lost' })
    expect(await failsToAnswer(call)).toBe('no answer')
  })
  const { tasks } = (await site.call('GET /tasks?name=lost')).json as { tasks: { state: string }[] }
  expect(tasks).toEqual([expect.objectContaining({ state: 'succeeded' })])
  expect((await site.call('GET /instances/vm-104/power')).json).toMatchObject({ state: 'off' })
})

test('an error before the call leaves nothing done; one after it leaves everything done', async () => {
  const site = await lab.signIn('vcenter')
  const rename = (name: string) => site.call('POST /instances/vm-106/rename', { name })
  await withFault({ kind: 'error', call: 'rename', code: 'platform-fault' }, async () => {
    expect(codeOf(await rename('never'))).toBe('platform-fault')
  })
  await withFault({ kind: 'error', call: 'rename', code: 'platform-fault', after: true }, async () => {
    expect(codeOf(await rename('indeed'))).toBe('platform-fault')
  })
  expect((await site.call('GET /instances/vm-106')).json).toMatchObject({ facts: { name: 'indeed' } })
})

test('a stall gives no answer for as long as the caller waits; a delay gives it late', async () => {
  const site = await lab.signIn('vcenter')
  await withFault({ kind: 'stall', call: 'about' }, async () => {
    const signal = AbortSignal.timeout(300)
    await expect(site.call('GET /about', undefined, { signal })).rejects.toThrow(/aborted|timeout/i)
  })
  await withFault({ kind: 'delay', call: 'about', ms: 200 }, async () => {
    const began = performance.now()
    expect((await about(site)).status).toBe(200)
    expect(performance.now() - began).toBeGreaterThanOrEqual(199)
  })
})

test.each([
  ['before it is done', false, 'on'],
  ['after it is done', true, 'off'],
])(
  'a call that stalls %s is let go when its fault is removed, and no other',
  async (_when, after, meanwhile) => {
    const site = await lab.signIn('vcenter')
    const power = async (ref: string) =>
      ((await site.call(`GET /instances/${ref}/power`)).json as { state: string }).state
    const stall = async (machine: string) => {
      await site.call(`POST /instances/${machine}/power`, { verb: 'start' })
      const fault = { kind: 'stall', call: 'stop', machine, after, times: 1 }
      const { id } = (await lab.admin('POST /lab/faults', fault)).json as { id: number }
      const answer = { status: 0 }
      const call = site.call(`POST /instances/${machine}/power`, { verb: 'stop' }).then(({ status }) => {
        answer.status = status
      })
      await until(async () => (await struckBy(id)) === 1, { what: 'the call to be held' })
      return { id, call, answer }
    }
    const first = await stall('vm-108')
    const second = await stall('vm-109')
    await lab.admin(`DELETE /lab/faults/${first.id}`)
    await first.call
    expect([first.answer.status, second.answer.status]).toEqual([202, 0])
    await until(async () => (await power('vm-109')) === meanwhile, {
      what: `it to be ${meanwhile} meanwhile`,
    })
    await lab.admin('DELETE /lab/faults')
    await second.call
    expect([second.answer.status, await power('vm-108'), await power('vm-109')]).toEqual([202, 'off', 'off'])
  },
)

test('a machine that cannot be looked at is a marker in the listing, and the others come', async () => {
  const site = await lab.signIn('vcenter')
  const listing = async () =>
    ((await site.call('GET /inventory')).json as { items: { type: string; ref?: string; error?: unknown }[] })
      .items
  const before = (await listing()).filter(({ type }) => type === 'instance').length
  const markers = async () => (await listing()).filter(({ type }) => type === 'problem')
  await withFault(
    { kind: 'error', call: 'instance', machine: 'vm-101', code: 'platform-permission' },
    async () => {
      expect(await markers()).toEqual([
        expect.objectContaining({
          ref: 'vm-101',
          name: 'web-01',
          error: expect.objectContaining({ code: 'platform-permission' }),
        }),
      ])
      expect((await listing()).filter(({ type }) => type === 'instance')).toHaveLength(before - 1)
      expect((await site.call('GET /instances/vm-101')).status).toBe(403)
    },
  )
  await withFault({ kind: 'stall', call: 'instance', machine: 'vm-101' }, async () => {
    expect(await markers()).toEqual([
      expect.objectContaining({ error: expect.objectContaining({ code: 'platform-timeout' }) }),
    ])
    const signal = AbortSignal.timeout(200)
    expect(await failsToAnswer(site.call('GET /instances/vm-101', undefined, { signal }))).toBe('no answer')
  })
  expect(await markers()).toEqual([])
})

test('a partial write leaves a part, and a corrupt block another byte that nobody mentions', async () => {
  const site = await lab.signIn('vcenter')
  const path = '/instances/vm-112/disks/2000/bytes'
  const block = 64 * 1024
  const read = async () => (await site.call(`GET ${path}?offset=${2 * block}&length=${2 * block}`)).bytes
  await site.call(`PUT ${path}?offset=${2 * block}`, Buffer.alloc(2 * block, 1))
  await withFault({ kind: 'partial-write', call: 'write', fraction: 0.25, times: 1 }, async () => {
    const call = site.call(`PUT ${path}?offset=${2 * block}`, Buffer.alloc(2 * block, 2))
    expect(await failsToAnswer(call)).toBe('no answer')
    expect(
      (await read()).equals(Buffer.concat([Buffer.alloc(block / 2, 2), Buffer.alloc((3 * block) / 2, 1)])),
    ).toBe(true)
  })
  const whole = await read()
  await withFault({ kind: 'corrupt-block', call: 'read', times: 1 }, async () => {
    const bad = await read()
    const differing = [...bad.keys()].filter((at) => bad[at] !== whole[at])
    expect(differing).toEqual([0, block])
  })
  await withFault({ kind: 'corrupt-block', call: 'write', times: 1 }, async () => {
    expect((await site.call(`PUT ${path}?offset=${2 * block}`, whole)).status).toBe(204)
    expect((await read()).equals(whole)).toBe(false)
  })
})

test('storage that is full takes no new block, and takes what it had', async () => {
  const site = await lab.signIn('vcenter')
  const path = '/instances/vm-112/disks/2000/bytes'
  const [inside, outside] = [0, 15 * 1024 ** 3]
  await lab.admin('POST /lab/acts', {
    act: 'capacity-gone',
    site: 'vcenter',
    of: 'storage',
    ref: 'datastore-31',
  })
  expect(codeOf(await site.call(`PUT ${path}?offset=${outside}`, Buffer.alloc(10, 1)))).toBe(
    'platform-no-capacity',
  )
  expect((await site.call(`PUT ${path}?offset=${inside}`, Buffer.alloc(10, 1))).status).toBe(204)
  await lab.admin('POST /lab/acts', {
    act: 'capacity-back',
    site: 'vcenter',
    of: 'storage',
    ref: 'datastore-31',
  })
  expect((await site.call(`PUT ${path}?offset=${outside}`, Buffer.alloc(10, 1))).status).toBe(204)
})

test('a session that is lost, or whose password changed, is over; the new password lets in, the old does not', async () => {
  const other = await createLab()
  const site = await other.signIn('vcenter')
  await withFault(
    { kind: 'act', call: 'about', times: 1, do: { act: 'session-loss', site: 'vcenter' } },
    async () => {
      expect(codeOf(await about(site))).toBe('platform-session-lost')
    },
    other,
  )
  const again = await other.signIn('vcenter')
  await other.admin('POST /lab/acts', { act: 'password-change', site: 'vcenter', password: 'another one' })
  expect(codeOf(await about(again))).toBe('platform-session-lost')
  await expect(other.signIn('vcenter')).rejects.toThrow(/401.*platform-authentication/)
  expect((await about(await other.signIn('vcenter', { password: 'another one' }))).status).toBe(200)
  expect((await other.signIn('cloud').then(about)).status).toBe(200)
})

test('a skewed clock shows in what the site says, not in what it does', async () => {
  const site = await lab.signIn('vcenter')
  const now = async () => Date.parse(((await about(site)).json as { now: string }).now)
  await lab.admin('POST /lab/acts', { act: 'clock-skew', site: 'vcenter', ms: -7_200_000 })
  expect(Date.now() - (await now())).toBeGreaterThan(7_000_000)
  await lab.admin('POST /lab/acts', { act: 'clock-skew', site: 'vcenter', ms: 0 })
  expect(Math.abs(Date.now() - (await now()))).toBeLessThan(3_600_000)
})

test('answers no client should trust come as they were asked for', async () => {
  const site = await lab.signIn('vcenter')
  const shaped = (shape: string, work: () => Promise<void>) =>
    withFault({ kind: 'answer', call: 'about', shape }, work)
  await shaped('html', async () => expect((await about(site)).bytes.toString()).toContain('<html>'))
  await shaped('redirect', async () => expect((await about(site)).status).toBe(302))
  await shaped('not-json', async () => expect(await failsToAnswer(about(site))).toBe('no answer'))
  await shaped('cut', async () => expect(await failsToAnswer(about(site))).toBe('no answer'))
  for (const shape of ['huge', 'drip'])
    await shaped(shape, async () => {
      const signal = AbortSignal.timeout(300)
      expect(await failsToAnswer(site.call('GET /about', undefined, { signal }))).toBe('no answer')
    })
})

test('faults outlive a restart, and without the admin token nobody sets one', async () => {
  const other = await createLab()
  await other.admin('POST /lab/faults', {
    kind: 'error',
    call: 'login',
    code: 'platform-overloaded',
    times: 1,
  })
  await other.restart()
  await expect(other.signIn('vcenter')).rejects.toThrow(/429/)
  await other.signIn('vcenter')
  const answer = await fetch(`${other.url}/lab/faults`, { headers: { authorization: 'Bearer drover-lab' } })
  expect(answer.status).toBe(403)
  expect((await other.admin('POST /lab/faults', { kind: 'magic' })).status).toBe(422)
})
