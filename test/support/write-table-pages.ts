import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from './processes.ts'
import { tablePages } from './table-pages.ts'

/** Brings the made parts of the pages up to date: `npm run docs:tables`. A unit test tells when they are not. */
for (const [name, fill] of Object.entries(tablePages)) {
  const path = join(repositoryRoot, 'docs', name)
  writeFileSync(path, fill(readFileSync(path, 'utf8')))
  console.log(`docs/${name} is written.`)
}
