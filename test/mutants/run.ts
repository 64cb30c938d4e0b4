import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createVitest, type TestCase, type TestModule, type Vitest } from 'vitest/node'
import { root } from '../support/run/root.mjs'
import { type Mutant, placesOf } from './mutant.ts'
import { mutants } from './mutants.ts'

/**
 * Breaks a copy of the code in each named way, and says which test of the push suite caught it:
 * `npm run test:mutants`, or with parts of names for some. Ends with 1 where a break went unnoticed.
 */

/** A copy of what git knows, or would: tests that list the files of the repository find them there. */
const makeCopy = (): string => {
  const copy = mkdtempSync(join(tmpdir(), 'drover-mutants-'))
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate']
  const files = execFileSync('git', listed, { cwd: root, encoding: 'utf8' }).split('\n')
  for (const file of files) if (file !== '') cpSync(join(root, file), join(copy, file), { force: true })
  execFileSync('git', ['init', '--quiet'], { cwd: copy })
  // A link is no folder, so the rule for the folder does not hold for it.
  writeFileSync(join(copy, '.git', 'info', 'exclude'), 'node_modules\n')
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** The first failure is enough: the others are not waited for. */
const stopAtFirst = () => {
  let vitest: Vitest | undefined
  return {
    onInit: (started: Vitest) => {
      vitest = started
    },
    onTestCaseResult: (test: TestCase) => {
      if (test.result().state === 'failed') void vitest?.cancelCurrentRun('test-failure')
    },
  }
}

/** What failed: a test, by its name, or something that is no test. */
interface Failure {
  readonly what: string
  readonly isTest: boolean
}

/** Undefined: all is green. */
const firstFailure = async (vitest: Vitest, files: readonly string[]): Promise<Failure | undefined> => {
  const wanted = new Set(files.map((file) => join(vitest.config.root, file)))
  const specifications = (await vitest.globTestSpecifications([...files])).filter(({ moduleId }) =>
    wanted.has(moduleId),
  )
  const errorsBefore = vitest.state.getUnhandledErrors().length
  if (specifications.length < wanted.size) throw new Error(`Not every file was found: ${files.join(', ')}`)
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications)
  // It remembers those of the runs before.
  const [error] = unhandledErrors.slice(errorsBefore)
  const modules = testModules.filter(({ moduleId }) => wanted.has(moduleId))
  const [failed] = modules.flatMap((module) => failureOf(module) ?? [])
  if (failed || error === undefined) return failed
  return { what: `an error outside of tests: ${String(error)}`, isTest: false }
}

const failureOf = (module: TestModule): Failure | undefined => {
  const [failed] = module.children.allTests('failed')
  if (failed) return { what: failed.fullName, isTest: true }
  const [error] = module.errors()
  return error && { what: `${module.relativeModuleId}: ${error.message.split('\n')[0]}`, isTest: false }
}

/** Puts the break into the copy; returns what takes it out again. */
const apply = (vitest: Vitest, { file, find, replace }: Mutant): (() => void) => {
  const path = join(vitest.config.root, file)
  if (find === null) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, replace)
    return () => rmSync(path)
  }
  const text = readFileSync(path, 'utf8')
  const write = (content: string) => {
    writeFileSync(path, content)
    vitest.invalidateFile(path)
  }
  write(text.replace(find, () => replace))
  return () => write(text)
}

const catchAll = async (vitest: Vitest, chosen: readonly Mutant[]): Promise<readonly Mutant[]> => {
  const files = [...new Set(chosen.flatMap(({ tests }) => tests))]
  console.log(`${chosen.length} mutants; first their ${files.length} test files as they are`)
  const broken = await firstFailure(vitest, files)
  if (broken !== undefined) throw new Error(`Without a mutant this fails already: ${broken.what}`)
  const survivors: Mutant[] = []
  for (const mutant of chosen) {
    const restore = apply(vitest, mutant)
    const began = performance.now()
    const caught = await firstFailure(vitest, mutant.tests).finally(restore)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    // What does not even load was caught by no test.
    if (!caught?.isTest) survivors.push(mutant)
    const how = caught?.isTest ? `caught by: ${caught.what}` : `SURVIVES ${caught?.what ?? ''}`
    console.log(`${String(mutant.law).padEnd(9)} ${mutant.name}  (${seconds} s)\n          ${how}`)
  }
  return survivors
}

const main = async (parts: readonly string[]): Promise<boolean> => {
  const chosen = mutants.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)))
  if (chosen.length === 0) throw new Error(`No mutant is called ${parts.join(' or ')}.`)
  const lost = chosen.flatMap(placesOf)
  if (lost.length > 0) throw new Error(lost.join('\n'))
  const copy = makeCopy()
  process.chdir(copy)
  const vitest = await createVitest('test', { root: copy, watch: false, reporters: [stopAtFirst()] })
  try {
    const survivors = await catchAll(vitest, chosen)
    console.log(`\n${chosen.length - survivors.length} caught, ${survivors.length} survived`)
    for (const { name } of survivors) console.log(`survived: ${name}`)
    return survivors.length === 0
  } finally {
    await vitest.close()
    process.chdir(root)
    rmSync(copy, { recursive: true, force: true })
  }
}

const isCaught = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  return false
})
process.exitCode = isCaught ? 0 : 1
