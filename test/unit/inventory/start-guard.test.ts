import { expect, test } from 'vitest'
import { codeFiles, readSource } from '../repository/sources.ts'

/** Calls of a platform that make a machine run, or may: of a port by its name, or as `portOf(platform, 'power').start(…)`. */
const starting = /\b(power('\))?\.(start|restart)|hibernate('\))?\.restore|revertToSnapshot)\(/
/** What is behind the ports, and what only names them. */
const behind = /^(src\/(platforms|lab)\/|test\/)/

const starters = codeFiles.filter((path) => !behind.test(path) && starting.test(readSource(path)))

/** Within so many lines before the call: between the two nothing else happens. */
const linesBefore = 14

/** The calls of a file that no question comes right before, by their lines. */
const unguarded = (path: string): string[] => {
  const lines = readSource(path).split('\n')
  return lines.flatMap((line, at) => {
    if (!starting.test(line)) return []
    const before = lines.slice(Math.max(0, at - linesBefore), at).join('\n')
    return /\b(requireMayStart|mayStart|askMayStart)\(/.test(before) ? [] : [`${path}:${at + 1}`]
  })
}

// promise: one-copy
test('whatever makes a machine run asks the one guard right before', () => {
  expect(starters.length).toBeGreaterThan(4)
  // Its verbs are in a table; the one line that calls one of them asks before.
  const byTable = starters.filter((path) => path !== 'src/inventory/power/power-machine.ts')
  expect(byTable.flatMap(unguarded)).toEqual([])
})

test('nothing but the guard decides whether a machine may run', () => {
  const deciding = codeFiles.filter(
    (path) => !path.startsWith('test/') && /\bwhyNotStart\(/.test(readSource(path)),
  )
  expect(deciding).toEqual(['src/inventory/power/start-guard.ts'])
})
