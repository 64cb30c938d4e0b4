import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { beginning } from './beginning.mjs'
import { root } from './root.mjs'

const bin = (name) => `${root}/node_modules/.bin/${name}`

/** Each is one command that exits with 0 when all is well; the slow ones first, so that none ends alone. */
const steps = [
  {
    name: 'schema dump',
    command: process.execPath,
    args: ['--import', 'tsx', 'test/support/write-schema.ts', '--check'],
  },
  { name: 'types', command: bin('tsc'), args: ['-p', '.'] },
  { name: 'promises', command: bin('oxlint'), args: ['--deny-warnings'] },
  { name: 'dead code', command: bin('knip'), args: ['--no-progress'] },
  { name: 'format, lint', command: bin('biome'), args: ['ci', '--colors=off', '--error-on-warnings', '.'] },
  { name: 'migrations', run: () => checkMigrations() },
]

/** Runs every step, as many at once as there are processors, and prints one line for each. */
export const runChecks = async () => {
  console.log('\n--- check')
  const began = performance.now()
  const queue = [...steps]
  const failures = []
  const work = async () => {
    for (let step = queue.shift(); step; step = queue.shift()) failures.push(...(await runStep(step)))
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  const failed = failures.length
  const note = failed > 0 ? `${failed} of ${steps.length} steps failed` : `${steps.length} steps`
  // Steps are no tests: they count when they fail, so that the last line never hides a failure.
  return { name: 'check', passed: 0, failed, failures, seconds: (performance.now() - began) / 1000, note }
}

const runStep = async (step) => {
  const began = performance.now()
  const result = await (step.run ? step.run() : runCommand(step.command, step.args))
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`${result.ok ? 'ok  ' : 'FAIL'} ${step.name.padEnd(14)} ${seconds} s`)
  if (!result.ok) console.log(result.output)
  return result.ok ? [] : [{ name: `check: ${step.name}`, message: beginning(result.output) }]
}

const runCommand = (command, args) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.stderr.on('data', (chunk) => chunks.push(chunk))
    child.once('error', (error) => resolve({ ok: false, output: error.message }))
    child.once('close', (code) =>
      resolve({ ok: code === 0, output: Buffer.concat(chunks).toString().trim() }),
    )
  })

/** Generates into a copy: a migration that would be new there is one that is missing here. */
const checkMigrations = async () => {
  const copy = mkdtempSync(join(tmpdir(), 'drover-migrations-'))
  try {
    cpSync(`${root}/db/migrations`, copy, { recursive: true })
    const before = readdirSync(copy).length
    const flags = ['--dialect', 'postgresql', '--schema', './db/schema', '--out', relative(root, copy)]
    const result = await runCommand(bin('drizzle-kit'), ['generate', ...flags])
    // drizzle-kit exits with 0 after some errors, so its own words count.
    if (!result.ok || !/No schema changes|migration file/.test(result.output)) return { ...result, ok: false }
    if (readdirSync(copy).length === before) return result
    return { ok: false, output: 'db/schema has changes that no migration makes. Run: npm run db:generate' }
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
