import { z } from '@hono/zod-openapi'
import {
  deviceFacts,
  diskFacts,
  guestFacts,
  type InstanceFacts,
  instanceFacts,
  nicFacts,
  snapshotFacts,
} from '../../domain/inventory/facts.ts'

const text = z.string()

/** The parts by the names that they have in the document. A kind of device that comes new breaks no program. */
const factsShape = {
  ...instanceFacts.shape,
  nics: z.array(z.object(nicFacts.shape).openapi('NicFacts')),
  disks: z.array(z.object(diskFacts.shape).openapi('DiskFacts')),
  snapshots: z.array(z.object(snapshotFacts.shape).openapi('SnapshotFacts')),
  devices: z.array(z.object({ ...deviceFacts.shape, kind: text }).openapi('DeviceFacts')),
  guest: z.object(guestFacts.shape).openapi('GuestFacts'),
}

/** What a source says of an instance. */
export const instanceFactsSchema = z.object(factsShape).openapi('InstanceFacts')

/** The same after overrides: what filters, rules and placement see. */
export const effectiveFactsSchema = z
  .object({ ...factsShape, target_name: text, os_type: text, distribution: text, distribution_version: text })
  .openapi('EffectiveFacts')

/** Facts as an answer types them: its lists are not read-only. The value is the same. */
export const shownFacts = <Facts extends InstanceFacts>(facts: Facts): Shown<Facts> => facts as Shown<Facts>

type Shown<Value> = Value extends readonly (infer Item)[]
  ? Shown<Item>[]
  : Value extends object
    ? { -readonly [Field in keyof Value]: Shown<Value[Field]> }
    : Value
