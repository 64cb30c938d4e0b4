import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { runCli } from '../../../src/cli/run.ts'
import { sampleFile } from '../../support/certificates.ts'
import { tempDir } from '../../support/temp.ts'

const dir = await tempDir('cli-files')
const folder = join(dir, 'folder')
await mkdir(folder)
const put = async (name: string, content: string): Promise<string> => {
  const path = join(dir, name)
  await writeFile(path, content)
  return path
}
const certificate = await put('certificate.json', sampleFile().text)
const junk = await put('junk', 'nothing of the kind\n')
const missing = join(dir, 'missing')
const hash = 'ab'.repeat(32)

/** Nobody listens at that address: whatever is said here was said before anybody was asked. */
const run = async (line: readonly string[]) => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const env = { HOME: dir, DROVER_URL: 'http://127.0.0.1:9', DROVER_TOKEN: 'drv_00000000_x' }
  const code = await runCli(line, { env, stdout, stderr, signal: new AbortController().signal })
  return { code, said: `${stdout.read() ?? ''}${stderr.read() ?? ''}` }
}

const verify = ['events', 'verify']
const site = ['sources', 'add', 'x', 'https://vc.example', '--username', 'a', '--password-stdin']

test.each([
  ['--head', [...verify, '--head', missing], /drover-head-1:.*<number>:<hash>.*drover events seals/s],
  ['--head', [...verify, '--head', 'junk'], /drover-head-1:.*<number>:<hash>.*drover events seals/s],
  ['--head', [...verify, '--head', folder], /drover-head-1:.*drover events seals/s],
  ['--key', [...verify, '--head', `7:${hash}`, '--key', missing], /drover signing-keys --pem/],
  ['--key', ['verify', certificate, '--key', missing], /drover signing-keys --pem/],
  ['<file>', ['verify', missing], /drover certificates get/],
  ['<file>', ['verify', folder], /drover certificates get/],
  ['--ca', [...site, '--ca', missing], /PEM/],
  ['--file', ['batches', 'add', '--file', missing], /JSON/],
])(
  'a file for %s that is none ends with 2, the option, why, and what to give: %#',
  async (option, line, remedy) => {
    const { code, said } = await run(line)
    expect(code).toBe(2)
    expect(said.startsWith(`${option}: `)).toBe(true)
    expect(said).toMatch(/there is no such file|it is a folder/)
    expect(said).toMatch(remedy)
    expect(said).not.toMatch(/ENOENT|EISDIR|no such file or directory/)
  },
)

test.each([
  ['--head', [...verify, '--head', junk], /drover-head-1:.*drover events seals/s],
  ['--head', [...verify, '--head', 'drover-head-1:7:cut'], /drover-head-1:.*drover events seals/s],
  ['--head', [...verify, '--head', `7:${hash.slice(1)}`], /drover-head-1:.*drover events seals/s],
  ['--key', ['verify', certificate, '--key', junk], /drover signing-keys --pem/],
  ['--file', ['batches', 'add', '--file', junk], /JSON/],
])(
  'what %s names and does not hold it ends with 2, the option and what to give: %#',
  async (option, line, remedy) => {
    const { code, said } = await run(line)
    expect(code).toBe(2)
    expect(said.startsWith(`${option}: `)).toBe(true)
    expect(said).toMatch(remedy)
  },
)

test('a file of tokens that is none is told with the variable and the reason', async () => {
  const stderr = new PassThrough()
  const env = { HOME: dir, DROVER_URL: 'http://127.0.0.1:9', DROVER_TOKEN_FILE: missing }
  const io = { env, stdout: new PassThrough(), stderr, signal: new AbortController().signal }
  expect(await runCli(['jobs', 'list'], io)).toBe(2)
  expect(String(stderr.read())).toMatch(/^DROVER_TOKEN_FILE: .+ there is no such file\.\n.*drover tokens add/)
})

test('a certificate that lacks something is told so in words', async () => {
  const { certificate: whole, ...rest } = JSON.parse(sampleFile().text) as Record<string, object>
  const { instance: _left, ...others } = whole as Record<string, unknown>
  const path = await put('cut.json', JSON.stringify({ certificate: others, ...rest }))
  const { code, said } = await run(['verify', path])
  expect(code).toBe(1)
  expect(said).toContain('certificate.instance')
  expect(said).not.toMatch(/expected|received|Invalid input/)
})
