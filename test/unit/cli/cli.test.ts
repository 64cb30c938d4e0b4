import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { checkClock, checkHeads, checkNode, checkVersions } from '../../../src/cli/commands/fleet/doctor.ts'
import { commands } from '../../../src/cli/commands.ts'
import { completionScript } from '../../../src/cli/kit/completion.ts'
import { cellText, field, progressBar, tableLines } from '../../../src/cli/kit/output.ts'
import { runCli } from '../../../src/cli/run.ts'
import { version } from '../../../src/config/config.ts'
import { bytes } from '../../../src/domain/text/bytes.ts'
import { atEnd } from '../../support/cleanup.ts'
import { ourImports } from '../repository/dependency-rules.ts'
import { codeFiles } from '../repository/sources.ts'

const run = async (args: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const code = await runCli(args, { env, stdout, stderr, signal: new AbortController().signal })
  return { code, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') }
}

test.each([
  [['nonsense'], 'There is no command "nonsense"'],
  [['jobs'], '"jobs" needs a verb'],
  [['jobs', 'fly'], 'There is no "jobs fly"'],
  [['jobs', 'show'], 'needs <id>'],
  [['jobs', 'show', 'one', 'two'], 'does not take "two"'],
  [['jobs', 'list', '--limit', '-1'], 'argument is ambiguous. Try: drover jobs list --help'],
  [['jobs', 'list', '--sideways'], "Unknown option '--sideways'"],
  [['jobs', 'list', '--state', 'asleep'], '--state must be one of ready'],
  [['jobs', 'list', '--limit', 'many'], '--limit must be a number'],
  [['jobs', 'add', 'self-test'], '--subject is required'],
  [['jobs', 'add', 'self-test', '--subject', 'a/b', '--payload', '{'], '--payload must be JSON'],
  [['pause', 'planet', 'earth', '--reason', 'x'], 'The scope is kind or lane'],
  [['limits', 'set', 'batch', 'lots'], 'The value must be a number'],
  [['completion', 'tcsh'], 'Which shell?'],
  [['help', 'nonsense'], 'There is no command'],
])('a wrong line (drover %j) ends with exit code 2 and says what is wrong', async (args, words) => {
  const { code, stdout, stderr } = await run(args, { DROVER_URL: 'http://127.0.0.1:9' })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(words)
})

test.each(['--help', '-h'])('the verbs of a noun are no mistake when asked for by %s', async (flag) => {
  expect(await run(['jobs', flag])).toEqual({
    code: 0,
    stdout: expect.stringContaining('drover jobs cancel'),
    stderr: '',
  })
})

test.each(['ftp://somewhere', 'somewhere'])(
  'the address %s is refused before anything is asked',
  async (url) => {
    const { code, stderr } = await run(['kinds'], { DROVER_URL: url })
    expect(code).toBe(2)
    expect(stderr).toContain('DROVER_URL must')
  },
)

test('every command has help that names its arguments and options', async () => {
  const overview = (await run(['help'])).stdout
  for (const command of commands) {
    expect(overview).toContain(command.name)
    const { code, stdout } = await run([...command.name.split(' '), '--help'])
    expect(code).toBe(0)
    for (const { name } of command.args ?? []) expect(stdout).toContain(`<${name}>`)
    for (const name of Object.keys(command.options ?? {})) expect(stdout).toContain(`--${name}`)
  }
})

/** Something that answers like an API; gives its address. */
const answering = async (status: number, body: unknown): Promise<string> => {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json' })
    response.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => new Promise((resolve) => server.close(resolve)))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([
  [401, 3],
  [403, 3],
  [404, 1],
  [409, 1],
  [422, 1],
  [500, 1],
])('a refusal with status %i is printed with its remedy, exit code %i', async (status, expected) => {
  const url = await answering(status, { code: 'some-code', detail: 'It is so.', remedy: 'Do it better.' })
  const { code, stdout, stderr } = await run(['kinds'], { DROVER_URL: url })
  expect({ code, stdout, stderr }).toEqual({
    code: expected,
    stdout: '',
    stderr: 'It is so. (some-code)\nDo it better.\n',
  })
})

test('who sends no good token is told where the command line takes one from', async () => {
  const url = await answering(401, { code: 'unauthenticated', detail: 'No token.', remedy: 'Send a header.' })
  const { code, stderr } = await run(['kinds'], { DROVER_URL: url })
  expect(code).toBe(3)
  expect(stderr).toMatch(/DROVER_TOKEN.*DROVER_DATA_DIR/)
  expect(stderr).not.toContain('header')
})

test('who sends a wrong token is told which one was refused, and where', async () => {
  const url = await answering(401, {
    code: 'unauthenticated',
    detail: 'It is not valid.',
    remedy: 'Send a header.',
  })
  const { code, stderr } = await run(['kinds'], { DROVER_URL: url, DROVER_TOKEN: 'drv_wrong' })
  expect(code).toBe(3)
  expect(stderr).toContain(`The token in DROVER_TOKEN is refused at ${url}`)
  expect(stderr).not.toContain('drv_wrong')
})

test('an API that is not there gives exit code 3 and says how to find it', async () => {
  const { code, stderr } = await run(['doctor', '--json'], {
    DROVER_URL: 'http://127.0.0.1:65111',
    HOME: '/nowhere',
  })
  expect(code).toBe(3)
  expect(stderr).toBe('')
  const other = await run(['kinds'], { DROVER_URL: 'http://127.0.0.1:65111', HOME: '/nowhere' })
  expect(other.code).toBe(3)
  expect(other.stderr).toContain('Set DROVER_URL')
})

test('the command line loads no database, no API and no worker: it asks them', () => {
  const imports = ourImports(codeFiles, { lazyToo: false })
  const loaded = new Set(['src/cli/run.ts'])
  for (const file of loaded) for (const { from, to } of imports) if (from === file) loaded.add(to)
  expect(loaded.size).toBeGreaterThan(50)
  expect([...loaded].filter((file) => /^(db|workers|src\/(api|ledger))\//.test(file))).toEqual([])
})

test('text of others cannot steer the terminal', () => {
  expect(cellText('a\u001b[2Jb\r\nc\u009bd')).toBe('a⟨1B⟩[2Jb⟨D⟩⟨A⟩c⟨9B⟩d')
  expect(cellText(null)).toBe('-')
  expect(cellText({ a: 1 })).toBe('{"a":1}')
})

test('columns stand under each other, numbers to the right', () => {
  const rows = [
    { name: 'a', count: 5, deep: { er: 'x' } },
    { name: 'longer', count: 1_000, deep: null },
  ]
  const columns = [field('name'), field('count', 'count', { right: true }), field('deep.er', 'deep')]
  expect(tableLines(columns, rows)).toEqual(['NAME    COUNT  DEEP', 'a           5  x', 'longer   1000  -'])
})

test('the bar shows share, rate and the time that is left', () => {
  expect(progressBar(0, 10, 0)).toBe(`[${'·'.repeat(24)}]  0/10  0.0/s`)
  expect(progressBar(50, 100, 10_000)).toBe(`[${'#'.repeat(12)}${'·'.repeat(12)}]  50/100  5.0/s  ETA 10 s`)
  expect(progressBar(100, 100, 10_000)).toBe(`[${'#'.repeat(24)}]  100/100  10.0/s`)
  expect(progressBar(1024, 2048, 1_000, bytes)).toBe(
    `[${'#'.repeat(12)}${'·'.repeat(12)}]  1 KiB/2 KiB  1 KiB/s  ETA 1 s`,
  )
  expect([0, 1023, 1536, 3 * 1024 ** 4].map(bytes)).toEqual(['0 B', '1023 B', '1.5 KiB', '3 TiB'])
})

test('doctor knows an old Node, a clock that is wrong, and a fleet of several versions', () => {
  const worker = { role: 'worker', live: true, version, stopped_at: null }
  expect(checkNode('20.19.0').verdict).toBe('ok')
  expect(checkNode('20.18.9').verdict).toBe('fail')
  expect(checkNode('24.0.0').verdict).toBe('ok')
  const now = Date.parse('2026-11-18T12:00:00Z')
  expect(checkClock('Wed, 18 Nov 2026 12:00:00 GMT', now + 900).verdict).toBe('ok')
  expect(checkClock('Wed, 18 Nov 2026 11:59:50 GMT', now).verdict).toBe('warn')
  expect(checkClock(null, now).verdict).toBe('warn')
  expect(checkVersions([worker]).verdict).toBe('ok')
  expect(checkVersions([]).verdict).toBe('fail')
  expect(checkVersions([worker, { ...worker, version: '9.9.9' }]).verdict).toBe('warn')
  expect(checkVersions([worker, { ...worker, live: false }]).text).toContain('1 silent')
})

const complete = (line: string): string[] => {
  const words = line.split(' ')
  const script = `${completionScript('bash', commands, ['up', 'help'])}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_drover; printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean)
}

test('the shell offers nouns, verbs, options and the values that an option takes', () => {
  expect(complete('drover job')).toEqual(['jobs'])
  expect(complete('drover jobs re')).toEqual(['retry'])
  expect(complete('drover jobs list --st')).toEqual(['--state'])
  expect(complete('drover jobs list --state f')).toEqual(['failed'])
  expect(complete('drover jobs show some-id --w')).toEqual(['--wait'])
  expect(complete('drover self-test --fail')).toEqual(['--failing', '--failing-once'])
  expect(complete('drover self-test s')).toEqual(['show'])
  expect(complete('drover u')).toEqual(['up'])
})

test('the scripts for zsh and fish name every command', () => {
  for (const shell of ['zsh', 'fish'] as const) {
    const script = completionScript(shell, commands, ['help'])
    for (const { name } of commands) for (const word of name.split(' ')) expect(script).toContain(word)
  }
})

test('doctor warns of heads that are no longer handed out while events are sealed, and of nothing else', () => {
  const newest = { seq: 9, sealed_at: '2026-11-18T12:00:00.000Z' }
  const verdicts = (at: string) => checkHeads({ head: { at }, newest }, 60).map(({ verdict }) => verdict)
  expect(verdicts('2026-11-18T10:00:00.000Z')).toEqual(['ok'])
  expect(verdicts('2026-11-18T09:59:59.000Z')).toEqual(['warn'])
  expect(checkHeads({ head: null, newest }, 60)).toEqual([])
  expect(checkHeads({ head: { at: '2026-11-18T09:00:00.000Z' }, newest: null }, 60)).toEqual([])
})
