// Plain JavaScript, so that it starts before anything is installed; the benchmarks themselves are TypeScript.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { NotReady, setUp } from '../support/run/set-up.mjs'

const run = () => {
  const bench = fileURLToPath(new URL('./bench.ts', import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', bench, ...process.argv.slice(2)], {
    stdio: 'inherit',
  })
  // The child stops its servers and workers by itself; we only wait for it.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal === null ? 1 : constants.signals[signal])
  })
}

/** What Debian must bring, by suite. */
const packages = {
  ledger: ['redis-server'],
  operations: ['redis-server'],
  inventory: ['golang-go', 'golang-github-vmware-govmomi-dev'],
}

try {
  await setUp(packages[process.argv[2]] ?? [])
  run()
} catch (error) {
  if (!(error instanceof NotReady)) throw error
  console.error(error.message)
  process.exitCode = 1
}
