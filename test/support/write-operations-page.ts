import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fillOperationsPage } from '../../src/domain/operation/describe-tables.ts'
import { repositoryRoot } from './processes.ts'

/** Brings the made parts of docs/operations.md up to date: `npm run docs:operations`. A unit test tells when they are not. */
const path = join(repositoryRoot, 'docs', 'operations.md')
writeFileSync(path, fillOperationsPage(readFileSync(path, 'utf8')))
console.log('docs/operations.md is written.')
