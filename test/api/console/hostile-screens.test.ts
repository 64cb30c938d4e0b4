import { expect, test } from 'vitest'
import { createConsole } from '../../../src/console/console.ts'
import { quietLog, untilReadable } from '../../support/events.ts'
import { hostileWords, plainLine } from '../../support/hostile-words.ts'
import {
  hostFacts,
  ImaginedSite,
  networkFacts,
  platformProblem,
  storageFacts,
} from '../../support/imagined-site.ts'
import { createInventoryWorker, instancesOf, makeSite } from '../../support/inventory.ts'
import { createDatabase } from '../../support/postgres.ts'
import { readSource } from '../../unit/repository/sources.ts'
import { clientOf, depsOver, sealer } from '../setup.ts'

const { db } = await createDatabase()
const deps = depsOver(db, { limits: { requestsPerSecond: 10_000, requestsBurst: 10_000 } })
const call = clientOf({ ...deps, console: createConsole(deps) })

/** A source and a target whose things are called what no thing should be, with warnings, events and failed jobs. */
const haveHostileFleet = async () => {
  const words = Object.values(hostileWords)
  for (const role of ['source', 'target'] as const) {
    const world = new ImaginedSite()
    for (const [index, word] of words.entries()) {
      world.put({
        ...{
          ref: `vm-${role}-${index}`,
          name: word,
          location: word,
          description: word,
          os: word,
          host: word,
          folder: word,
        },
        ...{ resource_pool: word, cluster: word, template: role === 'source' && index % 5 === 0 },
        ...{ tags: { [word]: [word] }, attributes: { [word]: word } },
        guest: { agent: 'running', agent_version: word, hostname: word },
      })
      world.networks.set(`n-${index}`, {
        ...networkFacts,
        ref: `n-${index}`,
        name: word,
        location: word,
        switch: word,
        vlan: word,
      })
      world.hosts.set(`h-${index}`, {
        ...hostFacts,
        ref: `h-${index}`,
        name: word,
        cpu_model: word,
        version: word,
      })
      world.storage.set(`s-${index}`, { ...storageFacts, ref: `s-${index}`, name: word, type: word })
    }
    world.broken.set(`vm-${role}-1`, platformProblem('platform-fault', hostileWords.html))
    world.identity = { product: hostileWords.html ?? '', version: hostileWords.bidi ?? '', instance_id: role }
    await makeSite(db, { name: `odd-${role}`, role, sealer })
    const worker = createInventoryWorker(db, world.open, quietLog, sealer)
    await worker.run('check-connection', { role, name: `odd-${role}` })
    expect((await worker.sync(`odd-${role}`, { role })).state).toBe('succeeded')
    world.probeError = platformProblem(
      'platform-tls',
      `${hostileWords.html}${hostileWords['terminal-escape']}`,
    )
    await makeSite(db, { name: `away-${role}`, role, sealer })
    await worker.run('check-connection', { role, name: `away-${role}` })
  }
}
await haveHostileFleet()

const first = async (statement: string): Promise<string> => {
  const [row] = await db.unsafe<{ id: string }[]>(statement)
  if (!row) throw new Error(`Nothing for ${statement}`)
  return row.id
}

/** Every page of the console that needs no batch: with ids where it wants them. */
const pagePaths = async (): Promise<readonly string[]> => {
  const [instance, machine, network, job] = await Promise.all([
    first("select id from instance where name like '%script%' limit 1"),
    first("select id from machine where name like '%script%' limit 1"),
    first("select id from network where name like '%script%' limit 1"),
    first('select id from job order by id limit 1'),
  ])
  const ids: Readonly<Record<string, string>> = {
    instances: instance,
    machines: machine,
    networks: network,
    jobs: job,
  }
  const listed = [...readSource('src/console/console.ts').matchAll(/^ {2}'(\/[^']*)':/gm)].map(
    ([, path = '']) => path,
  )
  expect(listed.length).toBeGreaterThan(30)
  return listed.flatMap((path) => {
    if (/^\/(sources|targets)\/:name/.test(path)) {
      const role = path.startsWith('/sources') ? 'source' : 'target'
      return [`odd-${role}`, `away-${role}`].map((name) => path.replace(':name', name))
    }
    const room = path.split('/')[1] ?? ''
    if (!path.includes(':')) return [path]
    return ids[room] === undefined ? [] : [path.replace(':id', ids[room])]
  })
}

test('every page that shows words of a platform shows them as words', async () => {
  const shown = new Set<string>()
  for (const path of await pagePaths()) {
    const { status, text } = await call('GET', path)
    expect(status, `${path}: ${text.slice(0, 300)}`).toBeLessThan(500)
    expect(text, path).not.toMatch(/<script>document|<img src=x|" onerror=|' onmouseover='alert/)
    expect(text, path).not.toMatch(/href="javascript:/)
    // Nothing that drives a terminal of whoever fetches a page, and nothing that turns a line around.
    expect(
      text.split('\n').findIndex((line) => !plainLine.test(line)),
      path,
    ).toBe(-1)
    if (text.includes('&lt;script&gt;')) shown.add(path.split('/')[1] ?? '')
  }
  // Else this looks at pages that show none of it.
  for (const room of ['instances', 'machines', 'networks', 'hosts', 'sources', 'targets', 'warnings'])
    expect([...shown]).toContain(room)
})

test('answers of the API with words of a platform are JSON that a terminal may show', async () => {
  const [row] = await instancesOf(db, 'odd-source')
  await untilReadable(db)
  for (const path of [
    '/v1/instances?limit=100',
    `/v1/instances/${row?.id}`,
    '/v1/machines?limit=100',
    '/v1/networks',
    '/v1/warnings',
    '/v1/events?limit=100',
    '/v1/sources/away-source',
    '/v1/hosts',
    '/v1/jobs',
    '/v1/assessment',
  ]) {
    const { status, text } = await call('GET', path)
    expect(status, `${path} ${text.slice(0, 200)}`).toBe(200)
    expect(/[\p{Cc}]/u.exec(text.trim())?.[0].codePointAt(0) ?? 0x80, path).toBeGreaterThanOrEqual(0x80)
    expect(() => JSON.parse(text) as unknown).not.toThrow()
  }
})

test('no label of a metric is a word of a platform', async () => {
  const { text } = await call('GET', '/metrics')
  const labels = text.split('\n').flatMap((line) => /^[^#{]+\{(.*)\}/.exec(line)?.[1] ?? [])
  expect(labels.length).toBeGreaterThan(5)
  expect(labels.filter((label) => /owned|<script|odd-source|passwd/.test(label))).toEqual([])
})
