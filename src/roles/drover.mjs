#!/usr/bin/env node
import { takeSecrets } from '../config/take-secrets.mjs'
// The `drover` command. Roles are started by src/roles/main.ts; everything else asks a running Drover over HTTP, and
// loads none of its code.
import { enableTypeScript, requireNode } from '../process/node-version.mjs'

requireNode()
const args = process.argv.slice(2)
// Alone it brings the database to this version; with anything behind it, it moves machines.
const migratesDatabase = args.length === 1 && args[0] === 'migrate'
const isRole =
  migratesDatabase || ['up', 'api', 'worker', 'conductor', 'lab', 'rekey', 'repair-seals'].includes(args[0])
// What reads TypeScript starts a program of its own, with the environment as it is then.
const given = isRole ? takeSecrets() : process.env
await enableTypeScript()
if (isRole) {
  const { main } = await import('./main.ts')
  await main(args, given)
} else {
  const { runCli } = await import('../cli/run.ts')
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  // `drover events --follow | head` closes the pipe: that is the end, not an error.
  process.stdout.on('error', (error) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  process.exitCode = await runCli(args, {
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    signal: stop.signal,
  })
}
