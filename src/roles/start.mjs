// `npm start`: from a fresh clone to a running Drover. Plain JavaScript, because packages may be missing.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { takeSecrets } from '../config/take-secrets.mjs'
import { printable } from '../print/printable.mjs'
import { enableTypeScript, requireNode } from '../process/node-version.mjs'
import { ensureInstalled } from '../standalone/install.mjs'

requireNode()
const given = takeSecrets()
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
try {
  await ensureInstalled(root, { dev: false })
} catch (error) {
  process.stderr.write(`${printable(error.message)}\n`)
  process.exit(1)
}
await enableTypeScript()
// In this very process: signals arrive where they are handled, and the exit code is the supervisor's own.
const { main } = await import('./main.ts')
await main(['up', ...process.argv.slice(2)], given)
