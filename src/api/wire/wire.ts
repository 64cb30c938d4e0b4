import type { z } from '@hono/zod-openapi'

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name

/** What a row may hold for a field: a moment is a Date, free JSON is any object, lists may be read-only. */
type Given<Field> =
  Field extends z.ZodNullable<infer Inner>
    ? Given<Inner> | null
    : Field extends z.ZodOptional<infer Inner>
      ? Given<Inner> | undefined
      : Field extends z.ZodISODateTime
        ? Date
        : Field extends z.ZodRecord<z.ZodString, z.ZodUnknown>
          ? object
          : z.output<Field> extends readonly (infer Item)[]
            ? readonly Item[]
            : z.output<Field>

type Shape<Schema extends z.ZodObject> = Schema['shape']

/** Columns are camelCase, recorded JSON is snake_case already. */
type Held<Row, Name extends string> = Name extends keyof Row
  ? Row[Name]
  : Camel<Name> extends keyof Row
    ? Row[Camel<Name>]
    : { readonly missing: Name }

/** The fields that the row does not hold under their names, or not with their types. */
type Missing<Schema extends z.ZodObject, Row> = {
  [Name in keyof Shape<Schema> & string]: Held<Row, Name> extends Given<Shape<Schema>[Name]> ? never : Name
}[keyof Shape<Schema> & string]

type Rest<Schema extends z.ZodObject, Row> = Pick<
  z.output<Schema>,
  Missing<Schema, Row> & keyof z.output<Schema>
> &
  Partial<z.output<Schema>>

interface Field {
  readonly name: string
  readonly column: string
  readonly optional: boolean
}

const known = new WeakMap<z.ZodObject, readonly Field[]>()

const fieldsOf = (schema: z.ZodObject): readonly Field[] => {
  const seen = known.get(schema)
  if (seen) return seen
  const fields = Object.entries(schema.shape).map(([name, field]) => ({
    name,
    column: name.replace(/_([a-z0-9])/g, (_, first: string) => first.toUpperCase()),
    optional: (field as z.ZodType).safeParse(undefined).success,
  }))
  known.set(schema, fields)
  return fields
}

type RestOf<Schema extends z.ZodObject, Row> =
  Record<never, never> extends Rest<Schema, Row> ? [rest?: Rest<Schema, Row>] : [rest: Rest<Schema, Row>]

/**
 * A row as the answer that `schema` declares. The schema decides what leaves: a column that it does not name (a
 * secret, for example) stays here. What the row does not hold under the same name is given as `rest`; the compiler
 * names what is missing.
 */
export const toWire = <Schema extends z.ZodObject, Row extends object>(
  schema: Schema,
  row: Row,
  ...[rest]: RestOf<Schema, Row>
): z.output<Schema> => {
  const { answer, missing } = pick(schema, row, rest)
  // A statement that does not select what its row type promises: the compiler cannot see that.
  if (missing !== undefined) throw new Error(`The row has no ${missing}.`)
  return answer
}

/** The same with facts as they were recorded: an older version may not have known all that there are now. */
export const factsToWire = <Schema extends z.ZodObject, Facts extends object, Row extends object>(
  schema: Schema,
  { facts, row }: { readonly facts: Facts; readonly row: Row },
  ...[rest]: RestOf<Schema, Facts & Row>
): z.output<Schema> => pick(schema, { ...facts, ...row }, rest).answer

const pick = <Schema extends z.ZodObject>(schema: Schema, row: object, rest: object = {}) => {
  const computed = rest as Readonly<Record<string, unknown>>
  const held = row as Readonly<Record<string, unknown>>
  const answer: Record<string, unknown> = {}
  let missing: string | undefined
  for (const { name, column, optional } of fieldsOf(schema)) {
    const value = Object.hasOwn(computed, name) ? computed[name] : held[name in held ? name : column]
    if (value !== undefined) answer[name] = value instanceof Date ? value.toISOString() : value
    else if (!optional) missing = column
  }
  return { answer: answer as z.output<Schema>, missing }
}
