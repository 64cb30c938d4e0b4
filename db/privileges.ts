/**
 * What each running role may do in the database, as data. `migrate` applies it (grant-privileges.ts) and takes away
 * whatever is not named here, so a table that nobody names is a table that only its owner may touch;
 * test/integration/seals/privileges.test.ts fails until it is named.
 *
 * The words are those of GRANT: `update (a, b)` means these columns alone. Locking rows needs `update` of a column.
 */

/** The processes that run for long. `migrate` is none of them: it owns everything. */
export const runningRoles = ['api', 'conductor', 'worker', 'lab'] as const
export type RunningRole = (typeof runningRoles)[number]

/** The group that holds a role's privileges. Nobody signs in as it: logins are its members. */
export const groupOf = (role: RunningRole): string => `drover_${role}`

export type Grants = Readonly<Partial<Record<RunningRole, string>>>

const all = 'select, insert, update, delete'
const append = 'select, insert'
const read = 'select'

/** What a person decided about a job, and nothing that its work came to: no result, checkpoint, progress or lease. */
const decideJobs = `select, update (state, bell, run_after, priority, generation, publish, published_at, attempt,
  environment_attempt, lost, started_at, finished_at, error, deadline, cancel_requested_at, cancel_requested_by,
  cancel_reason, wait_reason, wait_detail, wait_since, wait_until, wait_signal)`
const enqueueJobs = `insert (id, kind, subject_type, subject_id, idempotency_key, payload, payload_version, bell,
  priority, lane, run_after, deadline, tokens, trace, created_by)`

/** What happened, and nothing about when and where in history: that is for the database to say, or seals would break. */
const tell = `select, insert (type, subject_type, subject_id, job_id, actor, from_state, to_state, reason, detail)`
/** A key that signs from now on: none of the past, whose certificates would then pass for ours. */
const addKey = 'insert (id, public_key, private_key, follows, vouched)'
/**
 * Row security says which facts (db/schema/fleet.ts). None that was written goes: the upgrade of seals goes by that. The API
 * of today writes none; that of the version before writes its list of keys when it starts during an upgrade.
 */
const stateFacts = 'select, insert, update (value, updated_at)'

/** A site without its password and what was sealed for the next reading. */
const siteFacts = `select (id, role, name, kind, endpoint, username, ca, fingerprint, seen_certificate, settings,
  connectivity, connectivity_error, connectivity_since, checked_at, next_check_at, identity, capabilities, revision,
  sync_job_id, synced_at, full_synced_at, next_sync_at, sync_error, sync_failures, sync_result, version, created_by,
  created_at, updated_at)`
/** What a look at a site and a reading of it note. Where it is and whom we are there is for people to say. */
const siteNotes = `update (connectivity, connectivity_error, connectivity_since, checked_at, seen_certificate, identity,
  capabilities, next_check_at, next_sync_at, sync_job_id, revision, cursor, synced_at, full_synced_at, sync_error,
  sync_failures, sync_result)`

/** Every table, as `schema.table`. A role that is not named may not even read it. */
export const tables: Readonly<Record<string, Grants>> = {
  // Which migrations have run: what /readyz compares with those that the API knows.
  'drizzle.__drizzle_migrations': { api: read },
  'public.access_token': { api: 'select, insert, delete, update (last_used_at, revoked_at)' },
  'public.admission_limit': { api: all, conductor: read, worker: read },
  'public.api_request': { api: 'select, insert, update', conductor: all },
  'public.batch': { api: all, conductor: 'select, update', worker: 'select, update' },
  'public.batch_instance': { api: 'select, delete', worker: 'select, insert, delete' },
  'public.batch_plan': { api: 'select, update, delete', conductor: read, worker: all },
  'public.batch_window': { api: all, conductor: read, worker: read },
  'public.certificate': { api: read, conductor: read, worker: append },
  'public.ended_session': { api: append, conductor: 'select, update, delete' },
  'public.effect': { api: 'select, insert, update', conductor: all, worker: 'select, insert, update' },
  'public.entry': { api: 'select, update, delete', conductor: 'select, update, delete', worker: all },
  'public.entry_disk': { api: 'select, delete', conductor: 'select, delete', worker: all },
  'public.entry_extent': { api: 'select, delete', conductor: 'select, delete', worker: all },
  'public.entry_history': { api: read, conductor: read, worker: append },
  // History is added to by everybody and changed by nobody; what is old goes by drover_prune_events alone.
  'public.event': { api: tell, conductor: tell, worker: tell },
  // What `migrate` has said about the least that is kept, and what was removed, signed: see drover_prune_events.
  'public.event_floor': {},
  'public.event_prune': { api: read, conductor: read },
  'public.event_seal': { api: read, conductor: append },
  'public.finding': { api: all, conductor: all, worker: all },
  'public.former_key': { api: read, conductor: read, worker: read },
  'public.host': { api: 'select, delete', conductor: read, worker: 'select, insert, update' },
  'public.instance': { api: 'select, update, delete', conductor: 'select, update', worker: all },
  'public.instance_identity': { api: all, conductor: all, worker: all },
  'public.image': { api: 'select, insert, update', conductor: read, worker: 'select, update' },
  'public.image_replica': {
    api: 'select, insert, update',
    conductor: read,
    worker: 'select, insert, update',
  },
  'public.inventory_stage': { conductor: 'select, delete', worker: all },
  'public.job': {
    api: `${decideJobs}, ${enqueueJobs}`,
    conductor: 'select, insert, update, delete',
    worker: 'select, insert, update',
  },
  'public.job_search': { api: append, conductor: 'select, insert, delete', worker: append },
  'public.ledger_fact': {
    api: stateFacts,
    conductor: stateFacts,
    worker: append,
  },
  'public.machine': { api: 'select, update, delete', conductor: 'select, update, delete', worker: all },
  'public.network': { api: 'select, update, delete', conductor: read, worker: 'select, insert, update' },
  'public.operation': { api: all, conductor: all, worker: 'select, update' },
  'public.operation_end': { api: append, conductor: all, worker: append },
  'public.operation_refusal': { api: 'select, insert, update', conductor: all },
  'public.operation_span': { api: read, conductor: all },
  'public.operation_tally': { api: read, conductor: all },
  'public.pause': { api: 'select, insert, delete', conductor: read, worker: read },
  'public.project': { api: 'select, delete', conductor: read, worker: 'select, insert, update' },
  'public.schema_support': { api: read, conductor: read, worker: read },
  // Which keys are in use: a made-up one would stop everybody, so that the owner alone writes it.
  'public.sealing_key': { api: read, conductor: read, worker: read },
  'public.setting': { api: 'select, insert, update', conductor: read, worker: read },
  'public.signal': { conductor: all, worker: read },
  'public.signing_key': {
    api: `select, ${addKey}, update (retired_at, private_key)`,
    conductor: `select, ${addKey}`,
    worker: `select, ${addKey}`,
  },
  'public.site': {
    api: all,
    conductor: `${siteFacts}, update (next_check_at, next_sync_at)`,
    worker: `select, ${siteNotes}`,
  },
  'public.storage': { api: 'select, delete', conductor: read, worker: 'select, insert, update' },
  'public.template': { api: 'select, insert, update', conductor: read, worker: 'select, update' },
  'public.template_version': {
    api: 'select, insert, update',
    conductor: read,
    worker: 'select, insert, update',
  },
  'public.token_hold': { api: all, conductor: all, worker: all },
  'public.waiver': { api: 'select, insert, delete', conductor: read, worker: read },
  'public.warning': { api: all, conductor: all, worker: all },
  'public.webhook': {
    api: all,
    conductor: `select, update (cursor_era, cursor_xid, cursor_id, next_try_at, failures, last_error,
      last_delivered_at)`,
  },
  'public.worker': { api: read, conductor: all, worker: 'select, insert, update' },
  'self_test.call': { worker: append },
  'self_test.marker': { worker: 'select, insert, delete' },
}

/** Every sequence, for those who add rows that take a number of it. */
export const sequences: Readonly<Record<string, Grants>> = {
  'drizzle.__drizzle_migrations_id_seq': {},
  'public.event_id_seq': { api: 'usage', conductor: 'usage', worker: 'usage' },
  'public.operation_end_id_seq': { api: 'usage', conductor: 'usage', worker: 'usage' },
  'public.operation_seq_seq': { api: 'usage', conductor: 'usage', worker: 'usage' },
  'self_test.call_id_seq': { worker: 'usage' },
}

/** Every function of ours, by its name. They run as the owner, with a fixed `search_path`. */
export const functions: Readonly<Record<string, Grants>> = {
  // Ends sessions, which needs pg_signal_backend and pg_read_all_stats: the owner has them, nobody who runs does.
  'public.drover_end_stranded': { conductor: 'execute' },
  'public.drover_prune_events': { conductor: 'execute' },
  'public.drover_seal_heads': { api: 'execute', conductor: 'execute', worker: 'execute' },
}

/** Schemas that may be looked into. Nobody but the owner may make anything in them, the lab in its own aside. */
export const schemas: Readonly<Record<string, Grants>> = {
  public: { api: 'usage', conductor: 'usage', worker: 'usage' },
  self_test: { worker: 'usage' },
  lab: { lab: 'usage, create' },
  drizzle: { api: 'usage' },
}

/** The bell's store in Postgres, all tables alike: the conductor rings, workers take, the API looks. */
export const bell = {
  schema: 'bullmq',
  usage: { api: 'usage', conductor: 'usage', worker: 'usage' } satisfies Grants,
  tables: { api: read, conductor: all, worker: all } satisfies Grants,
  sequences: { conductor: 'usage', worker: 'usage' } satisfies Grants,
  functions: { api: 'execute', conductor: 'execute', worker: 'execute' } satisfies Grants,
  /**
   * Run as the owner: adding to a queue makes a sequence for it, and who may make one thing in a schema may make
   * functions there that others then run. For the conductor alone.
   */
  asOwner: ['add_jobs_bulk'],
  /** Which store it is and of which version: read by all, written by the owner. */
  fixed: ['migration', 'drover_identity'],
}
