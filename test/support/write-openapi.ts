import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { join } from 'node:path'
import type { ApiDeps } from '../../src/api/http/env.ts'
import { FilterTurns } from '../../src/api/http/filter-turns.ts'
import { apiLimits } from '../../src/api/wire/api-limits.ts'
import { systemClock } from '../../src/clock.ts'
import { breakingChanges, type Described, describedNow, writeDocument } from './openapi-file.ts'
import { repositoryRoot } from './processes.ts'

/**
 * Writes docs/openapi.json from the routes: `npm run docs:openapi`. A test tells when it is out of date. What would
 * break a program that was written against it needs `-- --breaking`, and a line in the changelog.
 */
const path = join(repositoryRoot, 'docs', 'openapi.json')
const parts = { clock: systemClock }
// Nothing is asked of it, so the database and what goes with it stay away.
const document = describedNow({
  ...parts,
  limits: apiLimits,
  host: '127.0.0.1',
  front: { publicUrl: undefined, trustedProxies: new BlockList() },
  bell: undefined,
  filters: new FilterTurns(parts),
} as unknown as ApiDeps)
const breaks = existsSync(path)
  ? breakingChanges(JSON.parse(readFileSync(path, 'utf8')) as Described, document)
  : []
for (const line of breaks) console.log(line)
if (breaks.length > 0 && !process.argv.includes('--breaking')) {
  console.log(
    'Programs that use the API would break. Nothing is written; -- --breaking writes it all the same.',
  )
  process.exitCode = 1
} else {
  writeFileSync(path, writeDocument(document))
  console.log('docs/openapi.json is written.')
}
