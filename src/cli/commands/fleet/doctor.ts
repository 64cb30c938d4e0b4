import { version } from '../../../config/config.ts'
import { connectivityStates, isAway, sealBrokenCode } from '../../../domain/inventory/connectivity.ts'
import { many } from '../../../domain/text/sentence.ts'
import { ApiRefusal, type Client, type Json, Unreachable } from '../../kit/client.ts'
import { type Command, exitCodes } from '../../kit/command.ts'
import type { Connection } from '../../kit/connection.ts'
import { nobodyDown } from '../../kit/down.ts'
import { itemsOf, pathOf } from '../../kit/rows.ts'

type Verdict = 'ok' | 'warn' | 'fail'

export interface Finding {
  readonly check: string
  readonly verdict: Verdict
  readonly text: string
  readonly remedy?: string
}

const oldestNode = [20, 19] as const
const clockToleranceMs = 2_000

const doctor: Command = {
  name: 'doctor',
  summary: 'Check this machine, the API, your token, readiness, clocks and versions',
  covers: ['GET /v1/unopened-secrets', 'GET /v1/down'],
  run: async ({ client, output }) => {
    const findings = await examine(client)
    const worst = findings.some((finding) => finding.verdict === 'fail')
    output.show({ ok: !worst, findings }, () => {
      for (const { check, verdict, text, remedy } of findings) {
        output.line(`${verdict.padEnd(4)}  ${check.padEnd(9)}  ${text}`)
        if (remedy !== undefined) output.line(`${' '.repeat(17)}${remedy}`)
      }
    })
    if (findings.some(({ check, verdict }) => verdict === 'fail' && (check === 'api' || check === 'token')))
      return exitCodes.unreachable
    return worst ? exitCodes.failed : exitCodes.ok
  },
}

/** Every check in the order in which they depend on each other; what cannot be asked any more is left out. */
const examine = async (client: Client): Promise<Finding[]> => {
  const findings: Finding[] = [checkNode(process.versions.node)]
  const beganMs = Date.now()
  let health: Response
  let connection: Connection
  try {
    connection = client.connection
    health = await client.fetch('GET', '/healthz')
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return [...findings, { check: 'api', verdict: 'fail', text: error.message, remedy: error.remedy }]
  }
  findings.push(
    health.ok
      ? { check: 'api', verdict: 'ok', text: `answers at ${connection.where} in ${Date.now() - beganMs} ms` }
      : {
          check: 'api',
          verdict: 'fail',
          text: `answered ${health.status} at ${connection.where}`,
          remedy: 'Is that address Drover? Look at its log.',
        },
    checkClock(health.headers.get('date'), (beganMs + Date.now()) / 2),
    await checkReady(client),
  )
  return [...findings, ...(await checkFleet(client, connection))]
}

/** Pure, and so are the next two: a test calls them. */
export const checkNode = (node: string): Finding => {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const good = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])
  return good
    ? { check: 'node', verdict: 'ok', text: `Node ${node}, Drover ${version}` }
    : {
        check: 'node',
        verdict: 'fail',
        text: `Node ${node} is too old.`,
        remedy: `Install Node ${oldestNode.join('.')} or newer.`,
      }
}

export const checkClock = (date: string | null, ourMs: number): Finding => {
  const theirMs = date === null ? Number.NaN : Date.parse(date)
  if (Number.isNaN(theirMs))
    return { check: 'clock', verdict: 'warn', text: 'The API did not say what time it has.' }
  // The header has whole seconds: half a second of it is not a difference.
  const apartMs = Math.max(0, Math.abs(theirMs + 500 - ourMs) - 500)
  const text = `this machine and the API's are ${(apartMs / 1_000).toFixed(1)} s apart`
  return apartMs <= clockToleranceMs
    ? { check: 'clock', verdict: 'ok', text }
    : {
        check: 'clock',
        verdict: 'warn',
        text,
        remedy: 'Run a time service. Leases do not depend on it; times that you read do.',
      }
}

export const checkVersions = (workers: readonly Json[]): Finding => {
  const live = workers.filter((worker) => worker.live === true)
  const workersAlive = live.filter((worker) => worker.role === 'worker').length
  if (workersAlive === 0)
    return {
      check: 'fleet',
      verdict: 'fail',
      text: 'No worker is alive: jobs are kept, but none starts.',
      remedy: 'Start one: drover worker',
    }
  const versions = [...new Set(live.map((worker) => String(worker.version)))].sort()
  const silent = workers.filter((worker) => worker.live !== true && worker.stopped_at === null).length
  const text = `${many(live.length, 'process', 'processes')} alive, ${many(workersAlive, 'worker')} among them; versions: ${versions.join(', ')}`
  if (silent > 0)
    return {
      check: 'fleet',
      verdict: 'warn',
      text: `${text}; ${silent} silent`,
      remedy: 'See drover workers --live true.',
    }
  return versions.length > 1 || versions[0] !== version
    ? {
        check: 'fleet',
        verdict: 'warn',
        text,
        remedy: `This is ${version}. Bring the whole fleet to one version.`,
      }
    : { check: 'fleet', verdict: 'ok', text }
}

/** Heads go out once an interval while events are sealed; twice that, and something has to be looked at. */
export const checkHeads = (seals: Json, everyMinutes: number): Finding[] => {
  const [head, newest] = [seals.head as Json | null, seals.newest as Json | null]
  if (!head || !newest) return []
  const behindMs = Date.parse(String(newest.sealed_at)) - Date.parse(String(head.at))
  if (behindMs <= everyMinutes * 2 * 60_000)
    return [{ check: 'heads', verdict: 'ok', text: `the newest head of the event chain is of ${head.at}` }]
  return [
    {
      check: 'heads',
      verdict: 'warn',
      text: `no head of the event chain was handed out since ${head.at}, and events were sealed since`,
      remedy:
        "The conductor's log and its /readyz say why; after a restore of the database: docs/production.md, Back up.",
    },
  ]
}

interface UnopenedSecrets {
  readonly total: number
  readonly items: readonly { readonly name: string; readonly remedy: string }[]
}

const namedMax = 5

/** After a key was lost. Says nothing where everything opens. */
export const checkSecrets = ({ total, items }: UnopenedSecrets): Finding[] => {
  if (total === 0) return []
  const named = items.slice(0, namedMax)
  const more = total > named.length ? ` and ${total - named.length} more` : ''
  return [
    {
      check: 'secrets',
      verdict: 'fail',
      text: `No key opens the secrets of ${named.map(({ name }) => name).join(', ')}${more}.`,
      remedy: `Give them again: ${named.map(({ remedy }) => remedy).join('; ')}`,
    },
  ]
}

const headFindings = async (client: Client): Promise<Finding[]> => {
  const seals = await client.get('/v1/events/seals')
  const every = itemsOf(await client.get('/v1/settings')).find(({ name }) => name === 'seal-head-minutes')
  return checkHeads(seals, Number(every?.value ?? 60))
}

const checkReady = async (client: Client): Promise<Finding> => {
  const response = await client.fetch('GET', '/readyz')
  const answered = (await response.json().catch(() => ({}))) as { reasons?: string[]; warnings?: string[] }
  const { reasons, warnings = [] } = answered
  if (response.ok && warnings.length > 0)
    return { check: 'ready', verdict: 'warn', text: `work can flow, but: ${warnings.join(' ')}` }
  if (response.ok) return { check: 'ready', verdict: 'ok', text: 'work can flow' }
  return {
    check: 'ready',
    verdict: 'fail',
    text: reasons?.join(' ') ?? `/readyz answered ${response.status}`,
    remedy: 'Jobs are safe in Postgres. They go on when this is mended.',
  }
}

const checkFleet = async (client: Client, { tokenFrom }: Connection): Promise<Finding[]> => {
  const from = tokenFrom === undefined ? 'without a token' : `with the token in ${tokenFrom}`
  try {
    const workers = itemsOf(await client.get('/v1/workers', { limit: 200, live: true }))
    return [
      { check: 'token', verdict: 'ok', text: `you may look, ${from}` },
      checkVersions(workers),
      ...checkSecrets((await client.get('/v1/unopened-secrets')) as unknown as UnopenedSecrets),
      ...(await checkSites(client)),
      downFinding(await client.get('/v1/down')),
      ...(await headFindings(client)),
    ]
  } catch (error) {
    if (error instanceof ApiRefusal && (error.status === 401 || error.status === 403))
      return [
        {
          check: 'token',
          verdict: 'fail',
          text: `${error.message} (asked ${from})`,
          remedy: 'Set DROVER_TOKEN to a good token.',
        },
      ]
    if (!(error instanceof ApiRefusal) && !(error instanceof Unreachable)) throw error
    return [{ check: 'fleet', verdict: 'fail', text: error.message, remedy: error.remedy }]
  }
}

/** Who is off because of a migration, and what brings each back. */
export const downFinding = (down: Json): Finding => {
  if (!down.count) return { check: 'off', verdict: 'ok', text: nobodyDown }
  const back = (down.entries as readonly Json[]).map(({ instance, because }) => `${instance}: ${because}`)
  return { check: 'off', verdict: 'warn', text: String(down.message), remedy: back.join(' ') }
}

/** Nobody reads more of them at once. */
const sitesMax = 50

/** Sources and targets that work waits for, each with who is off because of it. */
const checkSites = async (client: Client): Promise<Finding[]> => {
  const findings: Finding[] = []
  for (const noun of ['sources', 'targets'] as const)
    for (const state of connectivityStates.filter(isAway)) {
      const sites = itemsOf(await client.get(`/v1/${noun}`, { connectivity: state, limit: sitesMax }))
      for (const { name } of sites) findings.push(siteFinding(await client.get(pathOf(noun, String(name)))))
    }
  return findings.length > 0
    ? findings
    : [{ check: 'sites', verdict: 'ok', text: 'no source or target keeps work waiting' }]
}

/** A platform may be away for a while; what was changed behind our back does not come back by itself. */
export const siteFinding = (site: Json): Finding => {
  const { code, message, remedy } = site.connectivity as Json
  const off = String((site.down as Json).message)
  return {
    check: 'sites',
    verdict: code === sealBrokenCode ? 'fail' : 'warn',
    text: `${site.name}: ${message}${off === '' ? '' : ` ${off}`}`,
    remedy: String(remedy),
  }
}

export const doctorCommands: readonly Command[] = [doctor]
