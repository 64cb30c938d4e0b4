import { version } from '../../config.ts'
import { ApiRefusal, type Client, type Json, Unreachable } from '../client.ts'
import { type Command, exitCodes } from '../command.ts'
import { itemsOf } from './lists.ts'

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
  covers: [],
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
  try {
    health = await client.fetch('GET', '/healthz')
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error
    return [...findings, { check: 'api', verdict: 'fail', text: error.message, remedy: error.remedy }]
  }
  findings.push(
    health.ok
      ? { check: 'api', verdict: 'ok', text: `answers at ${client.url} in ${Date.now() - beganMs} ms` }
      : {
          check: 'api',
          verdict: 'fail',
          text: `answered ${health.status} at ${client.url}`,
          remedy: 'Is that address Drover? Look at its log.',
        },
    checkClock(health.headers.get('date'), (beganMs + Date.now()) / 2),
    await checkReady(client),
  )
  return [...findings, ...(await checkFleet(client))]
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
  const text = `${live.length} processes alive, ${workersAlive} of them workers; versions: ${versions.join(', ')}`
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

const checkReady = async (client: Client): Promise<Finding> => {
  const response = await client.fetch('GET', '/readyz')
  const { reasons } = (await response.json().catch(() => ({}))) as { reasons?: string[] }
  if (response.ok) return { check: 'ready', verdict: 'ok', text: 'work can flow' }
  return {
    check: 'ready',
    verdict: 'fail',
    text: reasons?.join(' ') ?? `/readyz answered ${response.status}`,
    remedy: 'Jobs are safe in Postgres. They go on when this is mended.',
  }
}

const checkFleet = async (client: Client): Promise<Finding[]> => {
  const from = client.tokenFrom === undefined ? 'without a token' : `with the token in ${client.tokenFrom}`
  try {
    const workers = itemsOf(await client.get('/v1/workers', { limit: 200, live: true }))
    return [{ check: 'token', verdict: 'ok', text: `you may look, ${from}` }, checkVersions(workers)]
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

export const doctorCommands: readonly Command[] = [doctor]
