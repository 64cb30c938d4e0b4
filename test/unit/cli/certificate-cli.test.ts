import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { makeSigningPair, publicPem } from '../../../src/certificate/signing.ts'
import { runCli } from '../../../src/cli/run.ts'
import { sampleFile } from '../../support/certificates.ts'
import { tempDir } from '../../support/temp.ts'

const dir = await tempDir('certificates')
const { key, text } = sampleFile()

const put = async (name: string, content: string): Promise<string> => {
  const path = join(dir, name)
  await writeFile(path, content)
  return path
}

const cli = async (...args: string[]) => {
  const said: string[] = []
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, next) => {
      said.push(chunk.toString())
      next()
    },
  })
  const io = { env: { HOME: dir }, stdout: stream, stderr: stream, signal: new AbortController().signal }
  return { code: await runCli(['verify', ...args], io), text: said.join('') }
}

const file = await put('good.json', text)

test('a sound certificate ends with 0 and says what it proves', async () => {
  const pem = await put('key.pem', publicPem(key.publicKey))
  const seen = await cli(file, '--key', pem)
  expect(seen.code).toBe(0)
  expect(seen.text).toContain('Sound: it is as it was signed, with the key that you gave.')
})

test('without a key nobody vouches for a certificate, a forged one too: it is not proved, and does not end with 0', async () => {
  const forged = await put('forged.json', sampleFile().text)
  for (const path of [file, forged]) {
    const seen = await cli(path)
    expect(seen.code).toBe(4)
    expect(seen.text).toContain('NOT PROVED: the file is consistent but nobody vouches for it')
    expect(seen.text).not.toContain('Sound')
    const json = JSON.parse((await cli(path, '--json')).text) as object
    expect(json).toMatchObject({ sound: true, pinned: false })
  }
})

test('a forgery that is whole by itself ends with 5 when the key is given', async () => {
  const pem = await put('ours.pem', publicPem(key.publicKey))
  const forged = await put('by-another.json', sampleFile().text)
  const seen = await cli(forged, '--key', pem)
  expect([seen.code, seen.text]).toEqual([5, expect.stringContaining('NOT SOUND')])
  expect(JSON.parse((await cli(forged, '--key', pem, '--json')).text)).toMatchObject({
    sound: false,
    foreign: true,
  })
})

test('an altered one ends with 1 and says why', async () => {
  const altered = await put('bad.json', text.replace('web-01', 'web-02'))
  const seen = await cli(altered)
  expect([seen.code, seen.text]).toEqual([1, expect.stringContaining('NOT SOUND')])
  const other = await put('other.pem', publicPem(makeSigningPair().publicKey))
  expect(await cli(altered, '--key', other)).toMatchObject({ code: 1 })
  expect(JSON.parse((await cli(altered, '--json')).text)).toMatchObject({ sound: false })
})

test('a file that is not there, or a key that is none, is a usage error', async () => {
  expect(await cli(join(dir, 'nowhere.json'))).toMatchObject({ code: 2 })
  expect(await cli(file, '--key', file)).toMatchObject({ code: 2 })
})
