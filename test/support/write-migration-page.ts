import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fillMigrationPage } from '../../src/domain/migration/describe-table.ts'
import { repositoryRoot } from './processes.ts'

/** Brings the made parts of docs/migration.md up to date: `npm run docs:migration`. A unit test tells when they are not. */
const path = join(repositoryRoot, 'docs', 'migration.md')
writeFileSync(path, fillMigrationPage(readFileSync(path, 'utf8')))
console.log('docs/migration.md is written.')
