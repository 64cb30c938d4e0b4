import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeRules } from '../../src/domain/inventory/rules/describe-rules.ts'
import { repositoryRoot } from './processes.ts'

/** Writes docs/rules.md from the rules: `npm run docs:rules`. A unit test tells when it is out of date. */
writeFileSync(join(repositoryRoot, 'docs', 'rules.md'), describeRules())
console.log('docs/rules.md is written.')
