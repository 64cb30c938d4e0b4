import { expect, test } from 'vitest'
import { codeFiles, readSource } from './sources.ts'

/** Calls of a platform that make a machine run, or may: of a port by its name, or as `portOf(platform, 'power').start(…)`. */
const starting = /\b(power('\))?\.(start|restart)|hibernate('\))?\.restore|revertToSnapshot)\(/
/** What is behind the ports, and what only names them. */
const behind = /^(src\/(platforms|lab)\/|test\/)/

const starters = codeFiles.filter((path) => !behind.test(path) && starting.test(readSource(path)))

test('whatever makes a machine run asks the one guard first', () => {
  expect(starters.length).toBeGreaterThan(4)
  const unguarded = starters.filter((path) => !/\b(requireMayStart|mayStart)\(/.test(readSource(path)))
  expect(unguarded).toEqual([])
})

test('nothing but the guard decides whether a machine may run', () => {
  const deciding = codeFiles.filter(
    (path) => !path.startsWith('test/') && /\bwhyNotStart\(/.test(readSource(path)),
  )
  expect(deciding).toEqual(['src/inventory/start-guard.ts'])
})
