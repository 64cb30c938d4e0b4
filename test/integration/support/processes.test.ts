import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { groupMembers, killGroup } from '../../support/children.ts'
import { startProcess } from '../../support/processes.ts'
import { tempDir } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'

const node = (script: string) => startProcess({ command: process.execPath, args: ['-e', script] })

test('a line that was printed before is found, and one that never comes fails with the output', async () => {
  const child = await node("console.log('port 17'); console.error('ready'); setInterval(() => {}, 1000)")
  expect((await child.line('ready'))[0]).toBe('ready')
  expect((await child.line(/port (\d+)/))[1]).toBe('17')
  await expect(child.line('never', { withinMs: 50 })).rejects.toThrow(/never[\s\S]*port 17/)
})

test('a stop and a crash tell how the process ended', async () => {
  const polite = await node(
    "process.on('SIGTERM', () => process.exit(3)); console.log('up'); setInterval(() => {}, 1000)",
  )
  await polite.line('up')
  expect(await polite.stop()).toEqual({ code: 3, signal: null })
  const rude = await node('setInterval(() => {}, 1000)')
  expect(await rude.crash()).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a suspended process prints nothing until it is resumed', async () => {
  const child = await node("let n = 0; setInterval(() => console.log('tick', n++), 5)")
  await child.line('tick 0')
  child.suspend()
  await until(
    async () => {
      const before = child.lines.length
      await new Promise((resolve) => setImmediate(resolve))
      return child.lines.length === before
    },
    { what: 'silence' },
  )
  const held = child.lines.length
  child.resume()
  await child.line(/tick/, { from: held + 1 })
})

test('what a process started and left behind is seen in its group', async () => {
  const parent = await startProcess({
    command: '/bin/sh',
    args: ['-c', 'sleep 600 >/dev/null 2>&1 & echo started'],
  })
  await parent.line('started')
  await parent.exited
  expect(groupMembers(parent.pid)).toHaveLength(1)
  killGroup(parent.pid)
  await until(() => groupMembers(parent.pid).length === 0, { what: 'the group to be empty' })
})

test('a child gets nothing of our environment that could steer it', async () => {
  process.env.DATABASE_URL = 'postgres://elsewhere/db'
  const child = await node('console.log(JSON.stringify(process.env))')
  await child.exited
  delete process.env.DATABASE_URL
  expect(JSON.parse(child.output)).not.toHaveProperty('DATABASE_URL')
})

let remembered = ''

test('a temporary directory exists while its test runs', async () => {
  remembered = await tempDir()
  expect(existsSync(remembered)).toBe(true)
})

test('a temporary directory is gone after its test', () => {
  expect(remembered).not.toBe('')
  expect(existsSync(remembered)).toBe(false)
})
