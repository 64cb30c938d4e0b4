#!/usr/bin/env node
// The `drover` command. Roles are started by src/main.ts; everything else is the command line of the API.
import { enableTypeScript, requireNode } from '../standalone/runtime.mjs'

requireNode()
await enableTypeScript()
const { main } = await import('../main.ts')
await main(process.argv.slice(2))
