import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { jobKinds } from '../../../src/domain/job/kinds/registry.ts'
import { tokenClasses } from '../../../src/domain/job/token.ts'
import { settings } from '../../../src/domain/settings.ts'
import { anchorsOf } from './anchors.ts'
import { codeFiles, readSource, repositoryFiles } from './sources.ts'

const documents = repositoryFiles.filter((path) => path.endsWith('.md'))

/** The first cell of every row of every table below a heading of level two, as far as it is code. */
const named = (path: string, heading: string): string[] => {
  const [, below = ''] = readSource(path).split(`\n## ${heading}\n`)
  const [text = ''] = below.split('\n## ')
  return [...text.matchAll(/^\| `([^`]+)`/gm)].map((match) => match[1] ?? '')
}

test.each([
  ['Runtime', 'dependencies'],
  ['Optional', 'optionalDependencies'],
  ['Development', 'devDependencies'],
])('docs/dependencies.md explains each of the packages: %s', (heading, group) => {
  const manifest = JSON.parse(readSource('package.json')) as Record<string, Record<string, string>>
  expect(named('docs/dependencies.md', heading).sort()).toEqual(Object.keys(manifest[group] ?? {}).sort())
})

/** What the code reads from the environment, by whatever words. */
const environmentOfCode = (): string[] => {
  const schema =
    /const environment = z\.object\(\{([\s\S]*?)\n\}\)/.exec(
      readSource('src/config/config-environment.ts'),
    )?.[1] ?? ''
  const ours = codeFiles.filter((path) => /^(src|workers|db)\//.test(path))
  return [
    ...[...schema.matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)].map((match) => match[1] ?? ''),
    ...ours.flatMap((path) =>
      [...readSource(path).matchAll(/\benv\.([A-Z][A-Z0-9_]+)/g)].map((match) => match[1] ?? ''),
    ),
  ].filter((name) => !['PATH', 'HOME'].includes(name))
}

test('docs/configuration.md lists every environment variable that the code reads, and no other', () => {
  const documented = ['Environment', 'For tests alone'].flatMap((heading) =>
    named('docs/configuration.md', heading),
  )
  expect(documented.length).toBeGreaterThan(15)
  expect(documented.sort()).toEqual([...new Set(environmentOfCode())].sort())
})

test('docs/configuration.md lists every setting with its default, and no other', () => {
  const text = readSource('docs/configuration.md')
  const kinds = new Set(jobKinds.map((kind) => `concurrency-${kind.kind}`))
  const expected = settings.map(({ name, default: value, unit }) => `| \`${name}\` | ${value} ${unit} |`)
  expect(named('docs/configuration.md', 'Settings').sort()).toEqual(settings.map(({ name }) => name).sort())
  expect(expected.filter((row) => !text.includes(row))).toEqual([])
  expect(settings.filter(({ name }) => kinds.has(name)).length).toBe(kinds.size)
})

test('docs/configuration.md lists every class of admission tokens with its limit', () => {
  const text = readSource('docs/configuration.md')
  const rows = Object.entries(tokenClasses).map(([name, { limit }]) => `| \`${name}\` | ${limit} |`)
  expect(rows.filter((row) => !text.includes(row))).toEqual([])
  expect(named('docs/configuration.md', 'Admission limits').sort()).toEqual(Object.keys(tokenClasses).sort())
})

test('docs/observability.md lists every metric of ours with its labels, and no other', () => {
  const made =
    /\b(?:counter|gauge|histogram|storedHistogram)\(\s*'([a-z_]+)',\s*(?:'[^']*'|"[^"]*"|`[^`]*`)(?:,\s*(\[[^\]]*\]))?/g
  const found = codeFiles
    .filter(
      (path) =>
        /^(src|workers)\//.test(path) && !/^src\/process\/(telemetry|stored-histogram)\.ts$/.test(path),
    )
    .flatMap((path) => [...readSource(path).matchAll(made)])
    .map(([, name, labels = '']) => ({ name: `drover_${name}`, labels: labels.match(/[a-z_]+/g) ?? [] }))
  expect(found.length).toBeGreaterThan(10)
  expect(named('docs/observability.md', 'Metrics').sort()).toEqual(found.map(({ name }) => name).sort())
  const rows = readSource('docs/observability.md').split('\n')
  for (const { name, labels } of found) {
    const [, type = ''] = rows.find((row) => row.startsWith(`| \`${name}\` |`))?.split(' | ') ?? []
    for (const label of labels) expect(`${name}: ${type}`).toContain(`\`${label}\``)
  }
})

/** Links of a document to files of ours and places in them: paths from the root, and anchors. */
const linksOf = (path: string): { readonly target: string; readonly anchor: string }[] =>
  [...readSource(path).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] ?? '')
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => /^([^#]*)#?(.*)$/.exec(link) ?? [])
    .map(([, file = '', anchor = '']) => ({
      target: file === '' ? path : posix.join(posix.dirname(path), file),
      anchor,
    }))

test('every link between documents leads to a file that exists', () => {
  expect(documents.length).toBeGreaterThan(5)
  const broken = documents.flatMap((path) =>
    linksOf(path)
      .filter(({ target }) => !existsSync(new URL(`../../../${target}`, import.meta.url)))
      .map(({ target }) => `${path}: ${target}`),
  )
  expect(broken).toEqual([])
})

test('every link to a place in a document leads to a heading that exists', () => {
  const places = documents.flatMap((path) =>
    linksOf(path)
      .filter(({ target, anchor }) => anchor !== '' && target.endsWith('.md'))
      .map((link) => ({ path, ...link })),
  )
  expect(places.length).toBeGreaterThan(20)
  const broken = places
    .filter(({ target, anchor }) => !anchorsOf(readSource(target)).has(anchor))
    .map(({ path, target, anchor }) => `${path}: ${target}#${anchor}`)
  expect(broken).toEqual([])
})

test('every npm script that a document names exists', () => {
  const { scripts } = JSON.parse(readSource('package.json')) as { scripts: Record<string, string> }
  const unknown = documents.flatMap((path) =>
    [...readSource(path).matchAll(/\bnpm run ([a-z][a-z:-]*)/g)]
      .map((match) => match[1] ?? '')
      .filter((name) => !Object.hasOwn(scripts, name))
      .map((name) => `${path}: ${name}`),
  )
  expect(unknown).toEqual([])
})

test('every file of ours that a document names in backticks exists', () => {
  const known = new Set(repositoryFiles)
  const folders = new Set(
    repositoryFiles.flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(0, at).join('/'))),
  )
  const unknown = documents.flatMap((path) =>
    [...readSource(path).matchAll(/`((?:src|workers|db|test|docs)\/[\w./-]*)`/g)]
      .map((match) => (match[1] ?? '').replace(/\/$/, ''))
      .filter((name) => !known.has(name) && !folders.has(name))
      .map((name) => `${path}: ${name}`),
  )
  expect(unknown).toEqual([])
})
