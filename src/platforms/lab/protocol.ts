import { z } from 'zod'
import { movePhases } from '../../domain/operation/move/move-seen.ts'
import { type Failure, type PlatformCode, platformCodes } from '../ports/platform-error.ts'
import { wireLimits, wireList, wireRecord } from './wire-limits.ts'

/**
 * What the lab and its driver say to each other. JSON over HTTP under a site's endpoint
 * (`http://127.0.0.1:7071/sites/<site>`), names in snake_case, sizes in bytes, moments as ISO text. Refs in paths
 * are percent-encoded. Every call but `POST /session` carries `authorization: Bearer <token>`.
 *
 * | call | request | answer |
 * |---|---|---|
 * | `POST /session` | `{username, password}` | 201 `session` |
 * | `DELETE /session` | | 204 |
 * | `GET /about` | | `about` |
 * | `GET /inventory` | `page` (token), `limit`, `scope` (repeatable) | `inventoryPage` |
 * | `GET /changes` | `since` (cursor), `page`, `limit`, `scope` | `inventoryPage`; 410 `platform-cursor-lost` |
 * | `GET /instances/:ref` | | `instanceAnswer`; 404 is "not there" |
 * | `POST /instances/find-owned` | `{owner}` | `refs` |
 * | `POST /instances` | `newMachineRequest` | 202 `task` |
 * | `GET`, `PUT /instances/:ref/owner` | PUT: `{owner}` (replaces the keys it names) | `ownerAnswer`; PUT: 204 |
 * | `GET /instances/:ref/power` | | `powerAnswer` |
 * | `POST /instances/:ref/power` | `{verb}` | 202 `task` |
 * | `GET /instances/:ref/guest` | | `guestAnswer` |
 * | `GET /instances/:ref/ports` | `ports=22,80` | `portsAnswer` |
 * | `POST /instances/:ref/rename` | `{name}` | 202 `task` |
 * | `POST /instances/:ref/reconfigure` | `machineChangeRequest` | 202 `task` |
 * | `POST /instances/:ref/clone` | `{name, folder, owner}` | 202 `task` |
 * | `DELETE /instances/:ref` | | 202 `task` |
 * | `GET`, `POST /instances/:ref/snapshots` | POST: `{name, memory, quiesce}` | `snapshotsAnswer`; POST: 202 `task` |
 * | `POST /instances/:ref/snapshots/:snapshot/revert` | | 202 `task` |
 * | `DELETE /instances/:ref/snapshots/:snapshot` | | 202 `task` |
 * | `GET /instances/:ref/disks/:key/extents` | `snapshot`, `offset` | `extentsPage` |
 * | `GET /instances/:ref/disks/:key/bytes` | `snapshot`, `offset`, `length` | 200 octet-stream of exactly `length` |
 * | `PUT /instances/:ref/disks/:key/bytes` | `offset`; octet-stream | 204, durable |
 * | `GET /instances/:ref/disks/:key/changes` | `snapshot`, `change_id` | `changedBlocksAnswer`; 410 `platform-cursor-lost` |
 * | `GET /templates` | `folder` (empty: all) | `templatesAnswer` |
 * | `GET /templates/:ref` | | `template` |
 * | `POST /images` | `newImageRequest` | 201 `imageAnswer`: an incomplete template to send disks to |
 * | `PUT /images/:ref/disks/:id` | `offset`; octet-stream, any length, may be cut | 200 `{received}` |
 * | `GET /images/:ref/disks/:id` | | `{received}`: where to go on |
 * | `POST /images/:ref/complete` | | 200 `template`; refused while bytes are missing |
 * | `DELETE /images/:ref` | | 204; incomplete images only |
 * | `POST /instances/:ref/mark-template`, `/mark-machine` | | 204 |
 * | `POST /instances/:ref/save` | | 202 `task`, its result is the state's ref |
 * | `GET`, `DELETE /saved/:ref` | | `savedState`; DELETE: 204, also when it is gone |
 * | `GET /saved/:ref/content` | | 200 octet-stream, what the digest is of |
 * | `POST /saved/:ref/restore` | `{host}` | 202 `task` |
 * | `POST /instances/:ref/move` | `{host, force}` | 202 `task` |
 * | `POST /instances/:ref/move-check` | `{host, force}` | 204, or how the move would be refused |
 * | `GET /tasks/:id` | | `task` |
 * | `POST /tasks/:id/abort` | | `abortAnswer`; moves only |
 * | `GET /tasks` | `name` or `machine` | `tasksAnswer`, newest first |
 *
 * Every call that answers 202, and `POST /images`, takes the `idempotency-key` header: a repeat with the same
 * name gives the first answer; the same name for something else is refused.
 */
export const headers = {
  /** The name of the intent, `Call.name`. */
  name: 'idempotency-key',
  /** Who calls, `Connection.caller`. */
  caller: 'x-drover-caller',
} as const

const code = z.custom<PlatformCode>(
  (value) => typeof value === 'string' && Object.hasOwn(platformCodes, value),
)
const failures = ['absent', 'refused', 'unsupported', 'unknown'] as const satisfies readonly Failure[]

/** The body of every answer of 400 and above, of a failed task, and of a marker in a listing. */
export const wireError = z.object({
  code,
  failure: z.enum(failures),
  message: z.string(),
  remedy: z.string(),
})
export type WireError = z.infer<typeof wireError>

/** The status of a refused call, by its code. */
export const statusOf: Readonly<Record<PlatformCode, number>> = {
  'platform-unreachable': 503,
  'platform-timeout': 504,
  'platform-overloaded': 429,
  'platform-answer-invalid': 502,
  'platform-redirects': 502,
  'platform-tls': 502,
  'platform-fingerprint': 502,
  'platform-authentication': 401,
  'platform-session-lost': 401,
  'platform-permission': 403,
  'platform-absent': 404,
  'platform-refused': 422,
  'platform-busy': 409,
  'platform-wrong-state': 409,
  'platform-aborted': 409,
  'platform-name-taken': 409,
  'platform-no-capacity': 507,
  'platform-unsupported': 501,
  'platform-cursor-lost': 410,
  'platform-fault': 500,
}

const text = z.string().max(wireLimits.textChars)
const ref = z.string().max(wireLimits.refChars)
const cursor = z.string().max(wireLimits.cursorChars)
const bytes = z.number().int().nonnegative()
const words = z.record(z.string().max(256), z.string().max(4_096))
const newName = z.string().min(1).max(wireLimits.nameChars)

export const loginRequest = z.object({ username: text.max(256), password: text.max(1_024) })
export const session = z.object({ token: text })
export const about = z.object({
  product: text,
  version: text,
  instance_id: text,
  /** The site's own clock, which may be wrong. */
  now: text,
})

const itemTypes = ['instance', 'network', 'host', 'storage', 'project'] as const
/** `facts` have the shape of src/domain/inventory/facts.ts, but a broken world leaves things out or lies. */
export const wireItem = z.discriminatedUnion('type', [
  z.object({ type: z.enum(itemTypes), facts: z.record(z.string(), z.unknown()) }),
  z.object({ type: z.literal('gone'), of: z.enum(itemTypes), ref }),
  z.object({ type: z.literal('problem'), of: z.enum(itemTypes), ref, name: text, error: wireError }),
])
export type WireItem = z.infer<typeof wireItem>

export const inventoryPage = z.object({
  // The first page brings hosts, networks and the like beside its machines.
  items: wireList(wireItem),
  /** The next page of this reading; null on the last. */
  next: cursor.nullable(),
  /** On the last page: what `changes` goes on from. */
  cursor: cursor.nullable(),
})
export type InventoryPage = z.infer<typeof inventoryPage>

export const instanceAnswer = z.object({ facts: z.record(z.string(), z.unknown()) })
export const refs = z.object({ refs: wireList(ref) })
export const ownerRequest = z.object({ owner: words })
export const ownerAnswer = z.object({ owner: wireRecord(text) })

export const powerVerbs = ['start', 'shutdown', 'stop', 'restart', 'suspend'] as const
export const powerRequest = z.object({ verb: z.enum(powerVerbs) })
export type PowerVerb = (typeof powerVerbs)[number]
export const powerAnswer = z.object({
  state: z.enum(['on', 'off', 'suspended']),
  host: text,
  /** Of this run: changes with every start and every wake from a saved state. */
  boot_id: text,
})

export const guestAnswer = z.object({
  agent: z.enum(['running', 'not-running', 'not-installed', 'unknown']),
  hostname: text,
  addresses: wireList(z.object({ mac: text, address: text })),
  /** The guest's own: changes with a cold boot, survives suspend and hibernation. */
  boot_id: text,
  counter: z.number().nullable(),
})
export const portsAnswer = z.object({ open: wireList(z.number().int()) })

const newNic = z.object({
  mac: text.max(64),
  network: text.max(256),
  type: z.enum(['managed', 'bridged', 'physical']),
  vlan: text.max(64),
  /** Left out: connected. */
  connected: z.boolean().optional(),
})
export type WireNic = z.infer<typeof newNic>
const maxDiskBytes = 64 * 1024 ** 4

export const newMachineRequest = z.object({
  name: newName,
  project: text.max(256),
  host: text.max(256),
  folder: text.max(1_024),
  cpus: z.number().int().min(1).max(1_024),
  memory: bytes.max(64 * 1024 ** 4),
  uuid: text.max(64),
  legacy_boot: z.boolean(),
  secure_boot: z.boolean(),
  nics: z.array(newNic).max(64),
  disks: z
    .array(z.object({ key: newName, capacity: bytes.min(1).max(maxDiskBytes), pool: text.max(256) }))
    .max(256),
  owner: words,
})
export type NewMachineRequest = z.infer<typeof newMachineRequest>

export const machineChangeRequest = z.object({
  cpus: z.number().int().min(1).max(1_024).optional(),
  memory: bytes.max(64 * 1024 ** 4).optional(),
  uuid: text.max(64).optional(),
  description: text.max(65_536).optional(),
  nics: z.array(newNic).max(64).optional(),
  change_tracking: z.boolean().optional(),
  attributes: words.optional(),
})
export type MachineChangeRequest = z.infer<typeof machineChangeRequest>

export const renameRequest = z.object({ name: newName })
export const cloneRequest = z.object({ name: newName, folder: text.max(1_024), owner: words })
export const snapshotRequest = z.object({ name: newName, memory: z.boolean(), quiesce: z.boolean() })
export const snapshotsAnswer = z.object({
  snapshots: wireList(z.object({ ref, name: text, parent: ref.nullable() })),
})
export const hostRequest = z.object({ host: text.max(256) })
export const moveRequest = z.object({ host: text.max(256), force: z.boolean().default(false) })

const extent = z.object({ offset: bytes, length: bytes })
export type WireExtent = z.infer<typeof extent>
export const extentsPage = z.object({
  extents: wireList(extent, wireLimits.extents),
  /** Where the next page begins; null at the disk's end. */
  next_offset: bytes.nullable(),
})
/** Whole, not paged: at most 100,000 extents; neighbours beyond that are joined. */
export const changedBlocksAnswer = z.object({
  extents: wireList(extent, wireLimits.extents),
  change_id: text,
})

export const template = z.object({
  ref,
  name: text,
  folder: text,
  owner: wireRecord(text),
  complete: z.boolean(),
})
export const templatesAnswer = z.object({ templates: wireList(template) })
export const newImageRequest = z.object({
  name: newName,
  folder: text.max(1_024),
  project: text.max(256),
  pool: text.max(256),
  host: text.max(256),
  network: text.max(256),
  cpus: z.number().int().min(1).max(1_024),
  memory: bytes.max(64 * 1024 ** 4),
  /** The lab takes `raw` alone; the others are refused as unsupported, so decode first. */
  disks: z
    .array(
      z.object({
        id: newName,
        capacity: bytes.min(1).max(maxDiskBytes),
        size: bytes,
        format: z.enum(['vmdk-stream', 'raw', 'qcow2']),
      }),
    )
    .max(64),
  owner: words,
})
export const imageAnswer = z.object({ ref })
export const receivedAnswer = z.object({ received: bytes })

export const savedState = z.object({
  ref,
  machine: ref,
  size: bytes,
  digest: text,
  complete: z.boolean(),
})

/** What a move is at. */
const moveView = z.object({
  phase: z.enum(movePhases),
  copied: bytes,
  total: bytes,
  iteration: z.number().int(),
  throttle: z.number().min(0).max(100),
  converging: z.boolean(),
  abortable: z.boolean(),
})
export type WireMove = z.infer<typeof moveView>

export const task = z.object({
  id: ref,
  name: text,
  kind: text,
  machine: ref,
  state: z.enum(['queued', 'running', 'succeeded', 'failed']),
  percent: z.number().min(0).max(100).nullable(),
  result: ref.nullable(),
  error: wireError.nullable(),
  /** Of a move alone. */
  move: moveView.nullable().default(null),
})
export type WireTask = z.infer<typeof task>
export const tasksAnswer = z.object({ tasks: wireList(task) })

/** `aborted`: its task has failed with `platform-aborted`. */
export const abortAnswer = z.object({ outcome: z.enum(['aborted', 'too-late', 'ended']) })
