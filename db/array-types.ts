import type postgres from 'postgres'
import { parse } from 'postgres-array'

/** Postgres's numbers of the array types that our statements take and give; built in, so the same everywhere. */
const arrays: Readonly<Record<string, { oid: number; element: (text: string) => unknown }>> = {
  booleans: { oid: 1000, element: (text) => text === 't' },
  smallints: { oid: 1005, element: Number },
  ints: { oid: 1007, element: Number },
  bigints: { oid: 1016, element: Number },
  texts: { oid: 1009, element: String },
  names: { oid: 1003, element: String },
  varchars: { oid: 1015, element: String },
  floats: { oid: 1022, element: Number },
  moments: { oid: 1185, element: (text) => new Date(text) },
  uuids: { oid: 2951, element: String },
}

/**
 * Tells the driver what arrays look like. By itself it asks the server for that on each new connection, in a promise
 * that nobody handles: a server that falls silent at that moment would end the process (postgres.js 3.4.9).
 */
export const arrayTypes: Record<string, postgres.PostgresType> = Object.fromEntries(
  Object.entries(arrays).map(([name, { oid, element }]) => [
    name,
    { to: oid, from: [oid], serialize: arrayText, parse: (text: string) => parse(text, element) },
  ]),
)

function arrayText(values: unknown): string {
  if (typeof values === 'string') return values
  if (!Array.isArray(values)) throw new TypeError('An array was expected as a parameter of this type.')
  return `{${values.map(elementText).join(',')}}`
}

const elementText = (value: unknown): string => {
  if (value === null) return 'null'
  if (value === undefined) throw new TypeError('An element of an array parameter is undefined.')
  const text = value instanceof Date ? value.toISOString() : String(value)
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
