import { expect, test } from 'vitest'
import { openDb } from '../../../db/client.ts'
import { createApi } from '../../../src/api/app.ts'
import { describeApi } from '../../../src/api/http/openapi.ts'
import { commands } from '../../../src/cli/commands.ts'
import { depsOver } from '../../api/setup.ts'

/** Operations without a command, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {}

/** Commands that ask nobody, or pages which are not part of the API's document. */
const withoutOperation = ['verify']

const methods = ['get', 'put', 'post', 'delete', 'patch'] as const

// A pool connects when it is asked something; describing the API asks nothing.
const db = openDb({ url: 'postgres://127.0.0.1:1/nowhere', max: 1, applicationName: 'test' })

const operations = Object.entries(describeApi(createApi(depsOver(db))).paths ?? {}).flatMap(([path, item]) =>
  methods.filter((method) => item[method]).map((method) => `${method.toUpperCase()} ${path}`),
)

test('every operation of the API has a command, or a reason why not', () => {
  const covered = new Set(commands.flatMap((command) => command.covers))
  expect(operations.length).toBeGreaterThan(30)
  expect(operations.filter((operation) => !covered.has(operation) && !(operation in exceptions))).toEqual([])
})

test('no command and no exception names an operation that the API does not have', () => {
  const named = [...commands.flatMap((command) => command.covers), ...Object.keys(exceptions)]
  expect(named.filter((operation) => !operations.includes(operation))).toEqual([])
  const idle = commands.filter((command) => command.covers.length === 0).map((command) => command.name)
  expect(idle).toEqual(withoutOperation)
})
