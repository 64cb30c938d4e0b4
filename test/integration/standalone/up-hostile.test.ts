import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, inject, test } from 'vitest'
import { runCli } from '../../../src/cli/run.ts'
import { startProcess } from '../../support/processes.ts'
import { freePort, tempDir } from '../../support/temp.ts'
import { settles, until } from '../../support/wait.ts'

const startMs = 120_000
const adminToken = 'the-door-of-the-lab'

/** Whatever may not reach a terminal; a raw byte of C1 or half a character is no UTF-8 and shows as U+FFFD. */
const harmful = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const harmfulIn = (bytes: Buffer): string[] => {
  const text = new TextDecoder('utf8', { fatal: true }).decode(bytes)
  return text.split(/\r?\n/).filter((line) => harmful.test(line))
}

const message = 'no\u001b[2J\u001b]0;owned\u0007\r\nweb-02 is done.\u009b1m\u202e\u2028\u200b'

// promise: hostile-words
test(
  'a hostile platform steers no terminal: not by names, not by errors, in no command and in no line of the start',
  async () => {
    const dataDir = join(await tempDir('up'), 'data')
    const printed = `${dataDir}.printed`
    const labPort = String(await freePort())
    const up = await startProcess({
      command: 'sh',
      args: ['-c', 'exec "$0" "$1" up > "$2" 2>&1', process.execPath, inject('roles'), printed],
      env: {
        DROVER_DATA_DIR: dataDir,
        HOME: dataDir,
        DROVER_PORT: '0',
        DROVER_WORKERS: '1',
        DROVER_LAB_WORLD: 'broken',
        DROVER_LAB_PORT: labPort,
        DROVER_LAB_ADMIN_TOKEN: adminToken,
      },
    })
    const output = () => readFileSync(printed)
    await until(() => output().includes('Look next'), { what: 'the inventory', withinMs: startMs })

    const cli = async (...line: string[]) => {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()]
      const chunks: Buffer[] = []
      for (const stream of [stdout, stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      const env = { DROVER_DATA_DIR: dataDir }
      const code = await runCli(line, { env, stdout, stderr, signal: new AbortController().signal })
      const bytes = Buffer.concat(chunks)
      expect({ line, harmful: harmfulIn(bytes) }).toEqual({ line, harmful: [] })
      return { code, text: bytes.toString() }
    }
    expect((await cli('instances', 'list', '--all')).text).toContain('photo⟨202E⟩gpj.exe')
    expect((await cli('instances', 'list', '--all', '--json')).text).toContain('photo\\u202egpj.exe')
    expect((await cli('assessment', '--csv')).text).toContain('⟨1B⟩[31mred')
    for (const line of [
      'warnings list',
      'sources list',
      'sources dump lab-left',
      'machines list',
      'events --limit 200',
    ])
      expect((await cli(...line.split(' '))).code).toBe(0)

    const fault = {
      kind: 'error',
      call: ['inventory', 'about'],
      failure: 'refused',
      code: 'platform-refused',
      message,
      times: 1_000,
    }
    const planted = await fetch(`http://127.0.0.1:${labPort}/lab/faults`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(fault),
    })
    expect(planted.status, await planted.clone().text()).toBeLessThan(300)
    const failed = await cli('sources', 'sync', 'lab-left', '--full', '--wait')
    expect(failed.code).toBe(1)
    // What steers was taken out where the error was made; what hides shows its number where it is printed.
    expect(failed.text).toContain('⟨200B⟩')

    up.kill('SIGINT')
    expect(await settles(up.exited, { what: 'the end', withinMs: startMs })).toMatchObject({ code: 0 })
    expect(harmfulIn(output())).toEqual([])
    expect(harmfulIn(readFileSync(join(dataDir, 'logs', 'worker-1.log')))).toEqual([])
  },
  3 * startMs,
)
