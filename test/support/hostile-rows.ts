import type { Db } from '../../db/client.ts'

/**
 * All at once what a platform may call a thing, as Postgres can store it: markup in text and in an attribute, bidi
 * controls, escapes for a terminal, ends of lines, zero widths, and more than a line holds.
 */
export const rowWord = [
  'odd"><script>document.title="owned"</script><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)' x='</textarea></title><b>",
  'photo\u202egpj.exe\u2066x\u2069\u200f\u061c',
  '\u001b[2J\u001b]0;owned\u0007\u009b31m',
  'one\r\ntwo\ttabs\vand\u2028three\u2029four\u0085five',
  'a\u200bb\ufeffc\u00add',
  '{{7*7}}<%= 1 %>=1+1',
].join('|')

/** The end of a name that is longer than any screen. */
export const longTail = 'n'.repeat(3_000)

interface Columns {
  /** What a platform, a guest or an error of theirs says. */
  readonly theirs: readonly string[]
  /** What Drover or a person of ours wrote, with rules of its own. */
  readonly ours: readonly string[]
}

/** Every column of text of every table that holds words of a platform: a new one has to be sorted in here. */
const tables: Readonly<Record<string, Columns>> = {
  batch: {
    theirs: ['message'],
    ours: [
      'name',
      'state',
      'include_expression',
      'defaults',
      'config',
      'constraints',
      'approval',
      'created_by',
    ],
  },
  batch_plan: { theirs: ['document'], ours: ['digest', 'created_by'] },
  certificate: { theirs: ['instance_name', 'document'], ours: ['batch_name', 'key_id'] },
  effect: {
    theirs: ['platform', 'name', 'external_id', 'error'],
    ours: ['subject_type', 'subject_id', 'kind', 'undo', 'state', 'waived_by', 'waived_reason'],
  },
  entry: {
    theirs: ['message', 'reasons', 'error', 'facts', 'placement', 'pending', 'machine_ref', 'baseline'],
    ours: ['state', 'stage', 'reason', 'constraint_name', 'intent', 'progress'],
  },
  entry_disk: { theirs: ['disk', 'target_disk', 'change_id'], ours: ['cycle'] },
  event: {
    theirs: ['reason', 'detail'],
    ours: ['type', 'subject_type', 'subject_id', 'actor', 'from_state', 'to_state'],
  },
  finding: { theirs: ['evidence'], ours: ['rule', 'severity'] },
  host: { theirs: ['ref', 'name', 'facts'], ours: ['hash'] },
  image: {
    theirs: ['facts', 'ovf', 'error'],
    ours: ['name', 'source', 'expected_digest', 'digest', 'verified', 'state', 'created_by'],
  },
  image_replica: { theirs: ['ref'], ours: ['folder', 'project', 'pool', 'host', 'network', 'state'] },
  instance: {
    theirs: [
      ...['ref', 'name', 'uuid', 'location', 'facts', 'os_type', 'distribution', 'distribution_version'],
      ...['pending', 'ignored_detail', 'problem', 'notes'],
    ],
    ours: ['hash', 'overrides', 'tracking', 'frozen_by', 'ignored', 'readiness', 'rules_version'],
  },
  job: {
    theirs: ['wait_detail', 'checkpoint', 'result', 'error', 'cancel_reason'],
    ours: [
      ...[
        'kind',
        'subject_type',
        'subject_id',
        'idempotency_key',
        'payload',
        'state',
        'bell',
        'lane',
        'wait_reason',
      ],
      ...['wait_signal', 'cancel_requested_by', 'progress', 'trace', 'created_by'],
    ],
  },
  machine: {
    theirs: ['ref', 'name', 'uuid', 'project', 'host'],
    ours: ['power', 'saved_state', 'run_policy', 'origin'],
  },
  network: { theirs: ['ref', 'name', 'location', 'facts'], ours: ['hash', 'overrides'] },
  operation: {
    theirs: ['message', 'error', 'result', 'params'],
    ours: ['kind', 'state', 'reason', 'on_conflict', 'cause', 'leaves', 'created_by'],
  },
  project: { theirs: ['ref', 'name', 'facts'], ours: ['hash'] },
  site: {
    theirs: ['identity', 'connectivity_error', 'seen_certificate', 'sync_error', 'sync_result'],
    ours: [
      ...['role', 'name', 'kind', 'endpoint', 'username', 'ca', 'fingerprint', 'settings', 'connectivity'],
      'created_by',
    ],
  },
  storage: { theirs: ['ref', 'name', 'facts'], ours: ['hash'] },
  template: {
    theirs: ['message', 'error'],
    ours: [
      ...['name', 'folder', 'production', 'project', 'pool', 'host', 'network', 'state', 'reason'],
      'created_by',
    ],
  },
  template_version: { theirs: ['error'], ours: ['state', 'cause', 'by'] },
  warning: {
    theirs: ['entity_name', 'messages'],
    ours: ['type', 'entity_type', 'entity_id', 'status', 'acknowledged_by'],
  },
}

/** Columns of text that nobody has sorted in, or that are gone. */
export const unsortedColumns = async (db: Db): Promise<string[]> => {
  const rows = await db<{ at: string }[]>`
    select table_name || '.' || column_name as at from information_schema.columns
    where table_schema = 'public' and data_type in ('text', 'jsonb') and table_name = any(${Object.keys(tables)})`
  const there = new Set(rows.map(({ at }) => at))
  const sorted = new Set(
    Object.entries(tables).flatMap(([table, { theirs, ours }]) =>
      [...theirs, ...ours].map((column) => `${table}.${column}`),
    ),
  )
  return [...[...there].filter((at) => !sorted.has(at)), ...[...sorted].filter((at) => !there.has(at))]
}

/** Keys whose values are ours, wherever they stand: codes, links and what decides what is shown. */
const ownKeys: readonly string[] = [
  ...[
    'code',
    'class',
    'id',
    'entry_id',
    'instance_id',
    'key_id',
    'kind',
    'standing',
    'state',
    'result',
    'format',
  ],
  ...['power_state', 'mode', 'backing', 'batch', 'source_digest', 'target_digest', 'at', 'type', 'did'],
  ...[
    'source_stopped_at',
    'source_off_at',
    'planned_at',
    'settings',
    'verified_at',
    'read_back_at',
    'until',
    'verb',
    'nictype',
    'tokens',
    'path',
  ],
]

/** Of a certificate these are sites of ours, which pages link to. */
const isOwn = (key: string, parent: string): boolean =>
  ownKeys.includes(key) ||
  (key === 'name' && (parent === 'source' || parent === 'target')) ||
  key === 'target'

const poisoned = (value: unknown, word: string, key = '', parent = ''): unknown => {
  if (Array.isArray(value)) return value.map((item) => poisoned(item, word, key, parent))
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, poisoned(item, word, name, key)]),
    )
  return typeof value === 'string' && !isOwn(key, parent) ? word : value
}

/** Puts hostile words into every text that comes from a platform, in every row that is there. */
export const poisonRows = async (db: Db): Promise<void> => {
  for (const [table, { theirs }] of Object.entries(tables)) {
    const rows = await db<Record<string, unknown>[]>`select ctid::text as "rowAt", * from ${db(table)}`
    if (rows.length === 0) throw new Error(`No ${table} is there that could hold a word.`)
    for (const [number, row] of rows.entries()) {
      // Refs are told apart; of two rows one has a name without an end.
      const word = `${number % 2 === 0 ? rowWord : `${rowWord}${longTail}`} ${number}`
      for (const column of theirs) {
        const value = row[column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())]
        if (value === null || value === undefined) continue
        const [{ rowAt }] = (await db`
          update ${db(table)} set ${db(column)} = ${
            typeof value === 'object' ? db`${JSON.stringify(poisoned(value, word))}::text::jsonb` : word
          } where ctid = ${String(row.rowAt)}::tid returning ctid::text as "rowAt"`) as unknown as [
          { rowAt: string },
        ]
        row.rowAt = rowAt
      }
    }
  }
}
