import { expect, test } from 'vitest'
import { batchConstraint } from '../../../src/domain/migration/batch/batch-settings.ts'
import { checkTwins } from '../../../src/domain/migration/batch/constraint-twins.ts'

const constraints = (...expressions: string[]) =>
  expressions.map((include_expression, at) => batchConstraint.parse({ name: `c${at}`, include_expression }))

test('two constraints with the same expression are refused, with the field of the later one', () => {
  expect(checkTwins(constraints('cpus > 4', 'true', 'cpus > 4'), [])).toEqual([
    {
      field: 'constraints.2.include_expression',
      message:
        'The constraint "c0" has the same expression: only the last one would ever count. Remove one of the two.',
    },
  ])
  expect(checkTwins(constraints('cpus > 4', 'cpus > 5'), [])).toEqual([])
})

test.each([
  ['cpus>4', 'cpus  >\n 4', true],
  ['name.startsWith("web")', 'name . startsWith( "web" )', true],
  ['name == "web  1"', 'name == "web 1"', false],
  ["name == 'a \\' b'", "name == 'a \\'  b'", false],
  ['"a" in tags', '"a"in tags', true],
  ['has_tag("a", "b") ', 'has_tag("a","b")', true],
  ['a in b', 'ain b', false],
])(
  'what stands between words makes no other expression, what stands in quotes does: %s, %s',
  (a, b, same) => {
    expect(checkTwins(constraints(a, b), [])).toHaveLength(same ? 1 : 0)
  },
)

test('what is stored like that already does not keep a batch from being changed elsewhere', () => {
  const stored = constraints('true', 'true')
  expect(checkTwins(stored, stored)).toEqual([])
  expect(checkTwins(constraints('true', 'true', 'cpus > 4'), stored)).toHaveLength(1)
})
