import { expect, test } from 'vitest'
import { promiseChapters } from '../../support/guarantees/promises.ts'
import { anchorOf } from './anchors.ts'
import { readSource, repositoryFiles } from './sources.ts'

const readme = readSource('README.md')

test('README.md is short enough to be read: 10,240 bytes', () => {
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(10_240)
})

test('README.md has a line for each of the eight chapters of promises, which leads to its tests', () => {
  expect(promiseChapters).toHaveLength(8)
  const lines = promiseChapters.map(
    ({ title, about }) => `- [**${title}.**](docs/guarantees.md#${anchorOf(title)}) ${about}`,
  )
  expect(lines.filter((line) => !readme.includes(`\n${line}\n`))).toEqual([])
})

test('README.md leads to every document of the manual', () => {
  const documents = repositoryFiles.filter((path) => /^docs\/[^/]+\.md$/.test(path))
  expect(documents.length).toBeGreaterThan(20)
  expect(documents.filter((path) => !readme.includes(`](${path})`))).toEqual([])
})
