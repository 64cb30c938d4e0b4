import { z } from 'zod'
import {
  type HostFacts,
  hostFacts,
  type InstanceFacts,
  instanceFacts,
  type NetworkFacts,
  networkFacts,
  type ProjectFacts,
  projectFacts,
  type StorageFacts,
  storageFacts,
} from '../../domain/inventory/facts.ts'
import { labAnswerInvalid } from './lab-answer.ts'
import { wireLimits, wireList, wireRecord } from './wire-limits.ts'

/*
 * Facts as they come over the wire. What is left out or null is empty, as any platform may not know it. What has
 * the wrong type, or a word that we do not know where it decides something, makes this one thing unreadable.
 */
const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '')
const flag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false)
const size = z
  .number()
  .nonnegative()
  .nullish()
  .transform((value) => value ?? 0)
const listOf = <Item extends z.ZodType>(item: Item) =>
  wireList(item)
    .nullish()
    .transform((value) => value ?? [])
const recordOf = <Value extends z.ZodType>(value: Value) =>
  wireRecord(value)
    .nullish()
    .transform((record) => record ?? {})
const ref = z.string().min(1).max(wireLimits.refChars)

/** Words that stand for what we do not know. Without one of them, a word that is new is an error. */
const anyOther = ['unknown', 'other']

/** What must be there and of its type: an item of a list, a value that is given. */
const exactly = (schema: unknown): z.ZodType => {
  if (schema instanceof z.ZodNumber) return z.number().nonnegative()
  if (schema instanceof z.ZodArray) return wireList(exactly(schema.element))
  return schema instanceof z.ZodObject ? tolerant(schema) : (schema as z.ZodType)
}

/** What may be left out. */
const tolerantField = (schema: unknown): z.ZodType => {
  if (schema instanceof z.ZodString) return text
  if (schema instanceof z.ZodBoolean) return flag
  if (schema instanceof z.ZodNumber) return size
  if (schema instanceof z.ZodArray) return listOf(exactly(schema.element))
  if (schema instanceof z.ZodRecord) return recordOf(recorded(schema.valueType))
  if (schema instanceof z.ZodNullable)
    return exactly(schema.unwrap())
      .nullish()
      .transform((given) => given ?? null)
  if (schema instanceof z.ZodOptional) {
    const inner = schema.unwrap()
    return inner instanceof z.ZodString ? z.string().min(1).optional() : tolerantField(inner)
  }
  if (schema instanceof z.ZodObject) {
    const object = tolerant(schema)
    return object.nullish().transform((given) => given ?? object.parse({}))
  }
  const known = schema instanceof z.ZodEnum ? schema.options : []
  const other = anyOther.find((word) => known.includes(word))
  return other === undefined ? (schema as z.ZodType) : (schema as z.ZodType).catch(other)
}

/** A number of a record may be negative: nobody says what it counts. */
const recorded = (schema: unknown) => (schema instanceof z.ZodNumber ? z.number() : exactly(schema))

const tolerant = (schema: z.ZodObject) =>
  z.object(
    Object.fromEntries(Object.entries(schema.shape).map(([name, field]) => [name, tolerantField(field)])),
  )

const readingOf = (schema: z.ZodObject) => tolerant(schema).extend({ ref })

const readings = {
  instance: readingOf(instanceFacts),
  network: readingOf(networkFacts),
  host: readingOf(hostFacts),
  storage: readingOf(storageFacts),
  project: readingOf(projectFacts),
}

export interface FactsOf {
  readonly instance: InstanceFacts
  readonly network: NetworkFacts
  readonly host: HostFacts
  readonly storage: StorageFacts
  readonly project: ProjectFacts
}

/** The facts of one thing, or an error that says which of them cannot be. */
export const readFacts = <Type extends keyof FactsOf>(type: Type, facts: unknown): FactsOf[Type] => {
  const parsed = readings[type].safeParse(facts)
  if (parsed.success) return parsed.data as unknown as FactsOf[Type]
  const [issue] = parsed.error.issues
  throw labAnswerInvalid(
    `the ${issue?.path.join('.') || 'facts'} of this ${type}: ${issue?.message ?? 'not valid'}`,
  )
}
