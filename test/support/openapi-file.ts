import { createApi } from '../../src/api/app.ts'
import type { ApiDeps } from '../../src/api/http/env.ts'
import { describeApi } from '../../src/api/http/openapi.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[]
  readonly requestBody?: unknown
  readonly responses: Readonly<Record<string, unknown>>
  readonly 'x-role'?: string
}

/** As much of an OpenAPI document as a program that was written against it relies on. */
export interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** The API describes itself without anything of what it needs to answer. */
export const describedNow = (deps: ApiDeps): Described =>
  JSON.parse(JSON.stringify(describeApi(createApi(deps)))) as Described

/** One line for each operation and each schema: a change is read line by line, and the file stays short. */
export const writeDocument = (document: Described): string => `${inLines(document, 3)}\n`

const inLines = (value: unknown, levels: number, indent = ''): string => {
  const isTree = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (levels === 0 || !isTree) return JSON.stringify(value)
  const deeper = `${indent}  `
  const lines = Object.entries(value).map(
    ([name, part]) => `${deeper}${JSON.stringify(name)}: ${inLines(part, levels - 1, deeper)}`,
  )
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${indent}}`
}

const roles = ['viewer', 'operator', 'admin']

/** What a program that was written against `before` can no longer do, or may trip over. Empty: all goes on. */
export const breakingChanges = (before: Described, after: Described): string[] => [
  ...Object.entries(before.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) => {
      const name = `${method.toUpperCase()} ${path}`
      const now = after.paths[path]?.[method]
      return now ? operationBreaks(name, operation, now) : [`${name} is gone`]
    }),
  ),
  ...Object.entries(before.components.schemas).flatMap(([name, schema]) => {
    const now = after.components.schemas[name]
    return now ? schemaBreaks(name, [schema, now], usesOf(name, after)) : [`the schema ${name} is gone`]
  }),
]

/** What a schema is for: a body must not ask for more, an answer must not hold less. */
interface Uses {
  readonly asked: boolean
  readonly answered: boolean
}

const usesOf = (name: string, { paths, components }: Described): Uses => {
  const reaches = (from: unknown, seen: Set<string>): boolean =>
    [...JSON.stringify(from ?? null).matchAll(/#\/components\/schemas\/(\w+)/g)].some(([, found = '']) => {
      if (found === name) return true
      if (seen.has(found)) return false
      seen.add(found)
      return reaches(components.schemas[found], seen)
    })
  const operations = Object.values(paths).flatMap((item) => Object.values(item))
  return {
    asked: operations.some(({ requestBody }) => reaches(requestBody, new Set())),
    answered: operations.some(({ responses }) => reaches(responses, new Set())),
  }
}

const operationBreaks = (name: string, before: Operation, now: Operation): string[] => {
  const known = new Map((before.parameters ?? []).map((one) => [`${one.in} ${one.name}`, one]))
  const still = new Set((now.parameters ?? []).map((one) => `${one.in} ${one.name}`))
  const stricter = roles.indexOf(now['x-role'] ?? '') > roles.indexOf(before['x-role'] ?? '')
  return [
    ...[...known.keys()].filter((one) => !still.has(one)).map((one) => `${name} no longer takes ${one}`),
    ...(now.parameters ?? [])
      .filter((one) => one.required && !known.get(`${one.in} ${one.name}`)?.required)
      .map((one) => `${name} now needs ${one.in} ${one.name}`),
    ...Object.keys(before.responses)
      .filter((status) => !Object.hasOwn(now.responses, status))
      .map((status) => `${name} no longer answers ${status}`),
    ...(before.requestBody === undefined && now.requestBody !== undefined
      ? [`${name} now takes a body`]
      : []),
    ...(stricter ? [`${name} now needs the role ${now['x-role']}`] : []),
  ]
}

const schemaBreaks = (name: string, [before, now]: readonly [Schema, Schema], uses: Uses): string[] => {
  const [had, has] = [before.properties ?? {}, now.properties ?? {}]
  const needs = (schema: Schema, field: string) => schema.required?.includes(field) === true
  const values = new Set((now.enum ?? []).map((value) => JSON.stringify(value)))
  const fields = [...new Set([...Object.keys(had), ...Object.keys(has)])]
  return [
    ...(JSON.stringify(before.type) === JSON.stringify(now.type) && before.$ref === now.$ref
      ? []
      : [`${name} is of another type`]),
    ...(before.enum ?? [])
      .map((value) => JSON.stringify(value))
      .filter((value) => uses.asked && !values.has(value))
      .map((value) => `${name} no longer takes ${value}`),
    ...(before.items && now.items ? schemaBreaks(`${name}[]`, [before.items, now.items], uses) : []),
    ...fields.flatMap((field) => {
      const [was, is] = [had[field], has[field]]
      const path = `${name}.${field}`
      return [
        ...(was && !is ? [`${path} is gone`] : []),
        ...(uses.asked && needs(now, field) && !needs(before, field) ? [`${path} is now required`] : []),
        ...(uses.answered && is && needs(before, field) && !needs(now, field)
          ? [`${path} may now be missing`]
          : []),
        ...(was && is ? schemaBreaks(path, [was, is], uses) : []),
      ]
    }),
  ]
}
