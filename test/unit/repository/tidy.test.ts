import { execFile } from 'node:child_process'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { repositoryRoot } from '../../support/processes.ts'
import { tempDir } from '../../support/temp.ts'
import { longFunctions } from './long-functions.ts'
import { codeFiles, readSource, repositoryFiles } from './sources.ts'

const isTest = (path: string) => path.startsWith('test/')

test('no file is too long to have one reason to change', () => {
  const long = codeFiles
    .map((path) => ({ path, lines: readSource(path).split('\n').length - 1 }))
    .filter(({ path, lines }) => lines > (isTest(path) ? 400 : 300))
  expect(long).toEqual([])
})

test('no function is too long to see whole', () => {
  const long = codeFiles.flatMap((path) => longFunctions(path, readSource(path), 70))
  expect(long).toEqual([])
})

test('a function of 71 lines is found, and one of 70 is not', () => {
  const text = (lines: number) => `export const f = () => {\n${'  g()\n'.repeat(lines - 2)}}\n`
  expect(longFunctions('f.ts', text(71), 70)).toEqual(['f.ts:1 has 71 lines'])
  expect(longFunctions('f.ts', text(70), 70)).toEqual([])
})

test('no folder or file is named after nothing', () => {
  const named = repositoryFiles.filter((path) => /(^|\/)(utils?|helpers?|common|misc|lib)(\/|\.)/i.test(path))
  expect(named).toEqual([])
})

test('file names are kebab-case', () => {
  const odd = codeFiles.filter(
    (path) => !/^([a-z0-9.-]+\/)*[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)+$|^\.[a-z]/.test(path),
  )
  expect(odd).toEqual([])
})

/** Written apart, so that this file does not hold what it looks for. */
const bannedTexts = [
  ['/', 'work/'],
  ['/', 'home/'],
  ['registry.', 'npmjs'],
  ['npm', '.pkg.'],
  ['TO', 'DO'],
  ['FIX', 'ME'],
  ['@ts-', 'ignore'],
  ['@ts-', 'nocheck'],
].map((parts) => parts.join(''))

test('nothing names a machine, a registry or work left for later', () => {
  const found = repositoryFiles
    .filter((path) => path !== 'LICENSE' && !/\.(png|gif|webp|ico)$/.test(path))
    .flatMap((path) => {
      const text = readSource(path)
      return bannedTexts.filter((banned) => text.includes(banned)).map((banned) => `${path}: ${banned}`)
    })
  expect(found).toEqual([])
})

test('every dependency is pinned to one exact version', () => {
  const manifest = JSON.parse(readSource('package.json')) as Record<string, Record<string, string>>
  const all = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((group) =>
    Object.entries(manifest[group] ?? {}),
  )
  expect(all.length).toBeGreaterThan(10)
  expect(all.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
})

const testTitles = (path: string): string[] =>
  [
    ...readSource(path).matchAll(/^\s*(?:test|it)(?:\.each\((?:[^()]|\([^()]*\))*\))?\(\s*(['"`])(.+?)\1,/gm),
  ].map((match) => match[2] ?? '')

test('no two tests of a suite have the same name', () => {
  const seen = new Map<string, string>()
  const twice: string[] = []
  for (const path of repositoryFiles.filter((file) => file.endsWith('.test.ts'))) {
    for (const title of testTitles(path)) {
      const key = `${path.split('/')[1]}: ${title}`
      const first = seen.get(key)
      if (first !== undefined) twice.push(`${title} (${first}, ${path})`)
      seen.set(key, path)
    }
  }
  expect(seen.size).toBeGreaterThan(20)
  expect(twice).toEqual([])
})

test('no test is left out or run alone', () => {
  const banned = /\b(?:test|it|describe)\.(?:skip|todo|only|fails|skipIf|runIf)\b/
  const found = repositoryFiles.filter((path) => path.endsWith('.test.ts') && banned.test(readSource(path)))
  expect(found).toEqual([])
})

/** Runs our linter with our settings over one file that is not in the repository. */
const lint = async (text: string): Promise<{ code: number; output: string }> => {
  const dir = await tempDir('lint')
  for (const name of ['.oxlintrc.json', 'tsconfig.json'])
    await cp(join(repositoryRoot, name), join(dir, name))
  await symlink(join(repositoryRoot, 'node_modules'), join(dir, 'node_modules'))
  await mkdir(join(dir, 'src'))
  await writeFile(join(dir, 'src', 'sample.ts'), text)
  return new Promise((resolve) => {
    const program = join(repositoryRoot, 'node_modules', '.bin', 'oxlint')
    execFile(program, ['--deny-warnings'], { cwd: dir }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
    )
  })
}

test('the linter refuses a promise that nobody waits for', async () => {
  const { code, output } = await lint('const work = async () => 1\nwork()\nexport {}\n')
  expect(output).toContain('no-floating-promises')
  expect(code).toBe(1)
})

test('the linter accepts a promise that somebody waits for', async () => {
  const { code, output } = await lint('const work = async () => 1\nawait work()\nexport {}\n')
  expect({ code, found: output.includes('no-floating-promises') }).toEqual({ code: 0, found: false })
})
