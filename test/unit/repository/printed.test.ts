import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { runCli } from '../../../src/cli/run.ts'
import { printable, printableJson } from '../../../src/print/printable.mjs'
import { Terminal } from '../../../src/print/terminal.ts'
import { createLog } from '../../../src/process/log.ts'
import { RoleLog, readableLine } from '../../../src/supervisor/role-log.ts'
import { waveBlock, waveEndLines } from '../../../src/tour/wave-lines.ts'
import { atEnd } from '../../support/cleanup.ts'
import { tempDir } from '../../support/temp.ts'
import { codeFiles, readSource, withoutComments } from './sources.ts'

/** What a platform may call a thing: colours, a cleared screen, a title and a link for the terminal, hidden and turned text. */
const hostile = [
  'web\u001b[31m-red\u001b[2J\u001b[1;1H',
  '\u001b]0;title\u0007\u001b]8;;http://evil.example\u001b\\link\u001b]8;;\u001b\\',
  '\u009b31mc1\u009d0;osc\u009c\u0085\u007f\u0000\b\b\b',
  'fine\r\nweb-02 is done.\rOVER\u2028next\u2029par\tb\u000bc\u000c',
  '\u202egpj.exe\u202c\u2066x\u2069\u2067y\u2068z\u061c\u200e\u200f',
  'a\u200bb\u200cc\u200dd\ufeffe\u2060f\u00adg\u{e0001}\u{e0041}h\ud800',
].join('|')

/** Everything that may not reach a terminal, but for the line ends that we write. */
const harmful = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const harmfulIn = (text: string): string[] =>
  text.split('\n').flatMap((line) => {
    const found = harmful.exec(line)
    return found ? [`U+${found[0].codePointAt(0)?.toString(16)} in ${JSON.stringify(line)}`] : []
  })

/** The same in everything that is text in an answer. */
const poisoned = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(poisoned)
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, poisoned(item)]))
  return value === '' ? hostile : value
}

const answers: Readonly<Record<string, { status?: number; type?: string; body: unknown }>> = {
  'GET /v1/instances': {
    body: { items: [{ id: '', source: '', name: '', power_state: '', readiness: '', problem: '' }] },
  },
  'GET /v1/networks': { body: { items: [{ id: '', source: '', name: '', kind: '' }] } },
  'GET /v1/machines': { body: { items: [{ id: '', name: '', target: '', host: '', policy: '' }] } },
  'GET /v1/jobs/j': {
    body: {
      id: 'j',
      state: 'failed',
      finished_at: 'x',
      error: { code: '', message: '', remedy: '' },
      result: { said: '' },
      wait: { detail: '' },
      subject: { type: '', id: '' },
    },
  },
  'GET /v1/sources': { status: 409, body: { code: 'site-not-connected', detail: '', remedy: '' } },
  'GET /v1/job-kinds': {
    status: 422,
    body: {
      code: 'x',
      detail: '',
      remedy: '',
      errors: [
        { field: '', message: '' },
        { field: '', message: '' },
      ],
    },
  },
  'POST /v1/operations': {
    body: {
      machine: '',
      admitted: true,
      state: 'queued',
      before: '',
      supersedes: null,
      cancels_entry: null,
    },
  },
  'GET /v1/operations': {
    body: {
      items: [
        {
          id: 'o',
          kind: 'start',
          machine: '',
          state: 'failed',
          message: '',
          finished_at: 'x',
          supersedes: [],
          reason: '',
        },
      ],
    },
  },
  'GET /v1/operations/o': {
    body: { id: 'o', kind: 'start', machine: '', state: 'running', message: '', finished_at: null },
  },
  'GET /v1/assessment': { type: 'text/csv', body: `"name"\r\n"${hostile.replaceAll('\n', ' ')}"\r\n` },
  'GET /v1/sources/s/:dump': { body: { name: '', facts: [''] } },
  'GET /v1/certificates/c': { body: { name: '' } },
  'GET /healthz': { status: 503, body: { reasons: [''] } },
  'GET /readyz': { status: 503, body: { reasons: [''] } },
  'GET /v1/workers': { body: { items: [{ role: 'worker', live: true, version: '', stopped_at: null }] } },
}

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://x')
  const answer = answers[`${request.method} ${pathname}`]
  response.writeHead(answer?.status ?? (answer ? 200 : 404), {
    'content-type': answer?.type ?? 'application/json',
  })
  const body = answer?.body ?? { code: 'nothing-here', detail: hostile }
  response.end(typeof body === 'string' ? body : JSON.stringify(poisoned(body)))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
atEnd(() => new Promise((resolve) => server.close(resolve)))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const run = async (line: readonly string[], isTTY = false) => {
  const [stdout, stderr] = [Object.assign(new PassThrough(), { isTTY }), new PassThrough()]
  const code = await runCli(line, {
    env: { DROVER_URL: url, DROVER_TOKEN: 'a-token' },
    stdout,
    stderr,
    signal: new AbortController().signal,
  })
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

const lines = [
  ['instances', 'list'],
  ['networks', 'list'],
  ['machines', 'list'],
  ['jobs', 'show', 'j'],
  ['jobs', 'show', 'j', '--wait'],
  ['sources', 'list'],
  ['kinds'],
  ['start', 'web', '--dry-run'],
  ['operations', 'list'],
  ['operations', 'show', 'o', '--wait'],
  ['operations', 'show', 'o', '--conditions'],
  ['assessment', '--csv'],
  ['sources', 'dump', 's'],
  ['doctor'],
  ['jobs', `no${hostile}verb`],
  ['sources', 'show', hostile.toWellFormed()],
].map((words) => ({ words, line: printable(words.join(' ')) }))

test.each(lines)('drover $line prints nothing that steers a terminal', async ({ words }) => {
  const seen = await run(words)
  expect(`${seen.stdout}${seen.stderr}`).toMatch(/⟨1B⟩|\\u001b/)
  // CSV ends its lines as RFC 4180 says.
  const text = words.includes('--csv') ? seen.stdout.replaceAll('\r\n', '\n') : seen.stdout
  expect([...harmfulIn(text), ...harmfulIn(seen.stderr)]).toEqual([])
})

test.each(
  lines.filter(({ words: [first] }) => ['instances', 'machines', 'operations'].includes(first ?? '')),
)('with --json drover $line prints JSON of the same values without a raw control', async ({ words }) => {
  const { stdout } = await run([...words, '--json'])
  expect(harmfulIn(stdout)).toEqual([])
  expect(JSON.stringify(JSON.parse(stdout))).toContain(JSON.stringify(hostile).slice(1, -1))
})

test('a signed file keeps its bytes for a pipe, and is shown to a terminal without what steers it', async () => {
  expect((await run(['certificates', 'get', 'c'])).stdout).toBe(JSON.stringify({ name: hostile }))
  const { stdout } = await run(['certificates', 'get', 'c'], true)
  expect(harmfulIn(stdout)).toEqual([])
  expect(JSON.parse(stdout)).toEqual({ name: hostile })
})

test('no character that steers, turns or hides gets through, one by one', () => {
  const points = Array.from({ length: 0x110000 }, (_, at) => at).filter((at) => at !== 0x0a)
  const bad = points.filter((at) => harmful.test(String.fromCodePoint(at)))
  expect(bad.length).toBeGreaterThan(2_000)
  const text = bad.map((at) => String.fromCodePoint(at)).join(' ')
  expect(harmfulIn(printable(text))).toEqual([])
  expect(harmfulIn(printableJson(JSON.stringify(text)))).toEqual([])
  expect(JSON.parse(printableJson(JSON.stringify(text)))).toBe(text)
  expect(printable(printable(text))).toBe(printable(text))
  expect(printable('Ünïcödé 日本 🚚')).toBe('Ünïcödé 日本 🚚')
})

const spoken = (say: (terminal: Terminal) => void, isTTY = false): string => {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 4_000, rows: 50 })
  say(new Terminal(stream))
  return String(stream.read() ?? '')
}

const wave = {
  name: 'lab-wave',
  state: 'running',
  progress: { bytes_done: 1, bytes_total: 2, bytes_per_second: 1 },
  entries: ['conflict', 'background-import'].map((state) => ({
    id: 'its-id',
    name: hostile,
    state,
    message: hostile,
    running: false,
    progress: null,
    created_at: '',
    finished_at: null,
  })),
}

test('what the start says of roles, waves and sites steers no terminal', () => {
  const record = { level: 'error', msg: hostile, err: { message: hostile } }
  const said = spoken((terminal) => {
    terminal.line(`worker-1  ${readableLine(JSON.stringify(record))}`)
    for (const line of waveEndLines(wave, { address: 'http://x', tookMs: 0 })) terminal.line(line)
  })
  expect(said).toContain('⟨1B⟩')
  expect(harmfulIn(said)).toEqual([])
  const live = spoken((terminal) => terminal.live(...waveBlock(wave, 0)), true)
  expect(live).toContain('⟨1B⟩')
  expect(harmfulIn(live)).toEqual([])
  // One line stays one: a name cannot add another that looks like ours.
  expect(said.split('\n').filter((line) => line.startsWith('web-02 is done.'))).toEqual([])
})

test('a log line is JSON of the same values without a raw control, U+2028, C1 and bidi too', () => {
  const written: string[] = []
  const log = createLog({ role: 'api', level: 'info', destination: { write: (line) => written.push(line) } })
  log.error({ name: hostile, [hostile]: 1, err: new Error(hostile) }, hostile)
  const text = written.join('')
  expect(harmfulIn(text)).toEqual([])
  expect(JSON.parse(text)).toMatchObject({ name: hostile, msg: hostile, [hostile]: 1 })
})

test('what a role prints beside its log reaches its file clean', async () => {
  const path = join(mkdtempSync(join(await tempDir('log'), 'x')), 'api.log')
  const log = new RoleLog(path)
  log.write(`Error: ${hostile}`)
  log.close()
  expect(harmfulIn(readFileSync(path, 'utf8'))).toEqual([])
  expect(harmfulIn(log.lastLines.join('\n'))).toEqual([])
})

/** Every way to a terminal: our own streams, those that were handed in, the console, and those of a child. */
const ways =
  /\bprocess\s*(?:\?\.|\.)\s*std(?:out|err)\b|\bconsole\s*\.\s*[a-z]+\s*\(|\.std(?:out|err)\s*\.\s*write\b|\{[^}\n]*\bstd(?:out|err)\b[^}\n]*\}\s*=\s*(?:process|io|call\.io)\b|stdio:\s*['"]inherit|stdio:\s*\[[^\]]*?\b[12]\b|\[[^\]\n]*['"]inherit['"]|\bpino\.destination\b|\b(?:fs\.)?write(?:File)?Sync\(\s*[12]\b|['"`]\/dev\/(?:tty|std|fd)|\bnode:process\b|\bnode:console\b/g

const waysIn = (text: string): string[] => withoutComments(text).match(ways) ?? []

/** Who may hold a stream, and how often. Nobody but the terminal writes to one. */
const holders: Readonly<Record<string, readonly string[]>> = {
  // The one place; its stream is standard output unless another is given.
  'src/print/terminal.ts': ['process.stdout'],
  // They hand streams to a terminal.
  'src/roles/main.ts': [
    'process.stderr',
    'process.stdout',
    'process.stderr',
    'process.stdout',
    'process.stderr',
  ],
  'src/roles/drover.mjs': ['process.stdout', 'process.stdout', 'process.stderr'],
  // It cleans every line itself, as JSON.
  'src/process/log.ts': ['pino.destination'],
  // A tool for developers.
  // Before TypeScript can be read, or where it is not worth its time: these clean what they print …
  'src/cli/healthcheck.mjs': ['process.stderr'],
  'src/cli/make-secrets.mjs': ['process.stdout', 'process.stdout'],
  'src/roles/start.mjs': ['process.stderr'],
  // … and these say nothing but words of their own.
  'src/standalone/install.mjs': ['process.stderr', "stdio: ['ignore', 2"],
  'src/process/node-version.mjs': ['process.stderr'],
}

const shipped = codeFiles.filter(
  (path) => /^(src|workers|db)\//.test(path) && !path.startsWith('src/console/assets/'),
)

// promise: hostile-words
test('nobody prints but the one place, and those that hand it a stream', () => {
  const found = shipped.flatMap((path) => {
    const seen = waysIn(readSource(path)).map((way) => way.replace(/\.write$/, ''))
    return seen.length === 0 ? [] : [[path, seen] as const]
  })
  expect(Object.fromEntries(found)).toEqual(holders)
})

test('what is printed before TypeScript can be read is cleaned where it is printed', () => {
  const saying = ['src/cli/healthcheck.mjs', 'src/cli/make-secrets.mjs', 'src/roles/start.mjs']
  const written = saying.flatMap((path) => [...readSource(path).matchAll(/std(?:out|err)\.write\(([^\n]*)/g)])
  expect(written).toHaveLength(4)
  for (const [, what] of written) expect(what).toMatch(/^`[a-z ]*\$\{printable\([^{}]*\)\}\\n`\)$/)
})

test.each([
  'process.stdout.write(name)',
  'const { stdout } = process',
  'console.error(error)',
  'call.io.stderr.write(text)',
  "spawn('x', [], { stdio: 'inherit' })",
  "spawn('x', [], { stdio: ['ignore', 'inherit', 'pipe'] })",
  "spawn('x', [], { stdio: ['ignore', 2, 2] })",
  'writeSync(2, text)',
  "createWriteStream('/dev/tty')",
  "import { stdout } from 'node:process'",
])('the scan finds %s', (text) => {
  expect(waysIn(text)).not.toEqual([])
})
