import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSource, repositoryFiles } from '../unit/repository/sources.ts'
import { fillGuaranteesPage } from './guarantees/describe-guarantees.ts'
import { repositoryRoot } from './processes.ts'

/** Brings the made part of docs/guarantees.md up to date: `npm run docs:guarantees`. A unit test tells when it is not. */
const path = join(repositoryRoot, 'docs', 'guarantees.md')
const tests = repositoryFiles.filter((file) => file.endsWith('.test.ts'))
const files = tests.map((file) => ({ path: file, text: readSource(file) }))
writeFileSync(path, fillGuaranteesPage(readFileSync(path, 'utf8'), files))
console.log('docs/guarantees.md is written.')
