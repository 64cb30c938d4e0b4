import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { optionsOfKind } from '../../../src/cli/commands/operation/operation-options.ts'
import { commands } from '../../../src/cli/commands.ts'
import { mayForce, operationKinds } from '../../../src/domain/operation/kinds/kinds.ts'
import { operationMatrix } from '../../../src/domain/operation/kinds/matrix.ts'
import { operationParams } from '../../../src/domain/operation/kinds/params.ts'
import { operationReasons } from '../../../src/domain/operation/kinds/reasons.ts'
import { timeBounds, usualTimes } from '../../../src/domain/operation/kinds/times.ts'
import { repositoryRoot } from '../../support/processes.ts'

const page = readFileSync(join(repositoryRoot, 'docs', 'operations.md'), 'utf8')

test('the page names every reason with what ends it, and every pair that gives way', () => {
  for (const [reason, { title, remedy }] of Object.entries(operationReasons))
    expect(page).toContain(`| \`${reason}\` | ${title} | ${remedy} |`)
  const cells = page.split('\n').flatMap((line) => line.split('|').map((cell) => cell.trim()))
  const shown = cells.filter((cell) => cell === 'takes its place').length
  expect(shown).toBe(operationMatrix.filter(({ outcome }) => outcome === 'supersede').length)
})

test('usual times are within the bounds that anybody may ask for', () => {
  for (const kind of operationKinds) {
    const { deadlineSeconds, waitSeconds } = usualTimes[kind]
    expect(deadlineSeconds).toBeGreaterThanOrEqual(timeBounds.deadlineSeconds.least)
    expect(deadlineSeconds).toBeLessThanOrEqual(timeBounds.deadlineSeconds.most)
    expect(waitSeconds).toBeLessThanOrEqual(timeBounds.waitSeconds.most)
  }
})

test.each(operationKinds)('drover %s takes all that the kind knows, and no more', (kind) => {
  const { properties = {} } = z.toJSONSchema(operationParams[kind], { io: 'input' })
  const common = ['on-conflict', 'deadline', 'wait-seconds', 'dry-run']
  const expected = [...Object.keys(properties), ...common, ...(mayForce(kind) ? ['force'] : [])]
  expect(Object.keys(optionsOfKind(kind)).sort()).toEqual(expected.sort())
  expect(commands.some(({ name }) => name === kind)).toBe(true)
})
