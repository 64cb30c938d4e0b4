import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from '../../support/processes.ts'

/** Paths, from the root, of every file that is or will be part of the repository. */
export const repositoryFiles: readonly string[] = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard'],
  { cwd: repositoryRoot, encoding: 'utf8' },
)
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(repositoryRoot, path)))

export const readSource = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8')

export const isCode = (path: string): boolean => /\.(ts|tsx|mjs|cjs|js)$/.test(path)

export const codeFiles: readonly string[] = repositoryFiles.filter(isCode)

/** The same text with comments blanked, so that what only talks about a thing is not taken for it. */
export const withoutComments = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|[\s;{(])\/\/[^\n]*/g, '$1')

/** What a file imports, by any of the ways to import; with `lazyToo: false` only what it needs to be loaded: no types, no `import()`. */
export const importsOf = (text: string, options = { lazyToo: true }): string[] => {
  const source = withoutComments(text)
  const found = [
    ...source.matchAll(/(?:^|\n)\s*(?:import|export)\s([^'"`;]*?)from\s*['"]([^'"]+)['"]/g),
    ...source.matchAll(/(?:^|\n)\s*import()\s*['"]([^'"]+)['"]/g),
    ...(options.lazyToo ? source.matchAll(/\bimport()\(\s*['"]([^'"]+)['"]\s*\)/g) : []),
  ]
  return found
    .filter((match) => options.lazyToo || !match[1]?.startsWith('type '))
    .map((match) => match[2] ?? '')
}
