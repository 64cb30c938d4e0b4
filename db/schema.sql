-- Written by `npm run db:dump` from a freshly migrated database. Do not edit.

create sequence public.event_id_seq as bigint increment 1 cache 100;

create sequence public.operation_end_id_seq as bigint increment 1 cache 1;

create sequence public.operation_seq_seq as bigint increment 1 cache 1;

create sequence self_test.call_id_seq as bigint increment 1 cache 1;

create table public.access_token (
  id uuid not null,
  name text not null,
  role text not null,
  hash bytea not null,
  hint text not null,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  expires_at timestamp(3) with time zone,
  last_used_at timestamp(3) with time zone,
  revoked_at timestamp(3) with time zone,
  constraint access_token_pkey PRIMARY KEY (id),
  constraint access_token_role CHECK ((role = ANY (ARRAY['viewer'::text, 'operator'::text, 'admin'::text])))
);

create table public.admission_limit (
  name text not null,
  capacity integer not null,
  updated_by text not null,
  updated_at timestamp(3) with time zone not null default now(),
  constraint admission_limit_pkey PRIMARY KEY (name)
);

create table public.api_request (
  actor text not null,
  key text not null,
  digest bytea not null,
  status smallint,
  headers jsonb,
  body text,
  created_at timestamp(3) with time zone not null default now(),
  constraint api_request_actor_key_pk PRIMARY KEY (actor, key)
);

create table public.batch (
  id uuid not null,
  name text not null,
  state text not null default 'defined'::text,
  message text not null default ''::text,
  include_expression text not null,
  defaults jsonb not null,
  config jsonb not null,
  constraints jsonb not null default '[]'::jsonb,
  require_approval boolean not null default false,
  approval jsonb,
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  version integer not null default 1,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  updated_at timestamp(3) with time zone not null default now(),
  constraint batch_pkey PRIMARY KEY (id),
  constraint batch_state CHECK ((state = ANY (ARRAY['defined'::text, 'running'::text, 'stopped'::text, 'finished'::text, 'error'::text])))
);

create table public.batch_instance (
  batch_id uuid not null,
  instance_id uuid not null,
  constraint batch_instance_batch_id_instance_id_pk PRIMARY KEY (batch_id, instance_id)
);

create table public.batch_plan (
  id uuid not null,
  batch_id uuid not null,
  document jsonb not null,
  digest text not null,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint batch_plan_pkey PRIMARY KEY (id)
);

create table public.batch_window (
  id uuid not null,
  batch_id uuid not null,
  name text not null,
  starts_at timestamp(3) with time zone,
  ends_at timestamp(3) with time zone,
  lockout_at timestamp(3) with time zone,
  capacity integer not null default 0,
  constraint batch_window_capacity CHECK ((capacity >= 0)),
  constraint batch_window_order CHECK (((ends_at IS NULL) OR (starts_at IS NULL) OR (ends_at >= starts_at))),
  constraint batch_window_pkey PRIMARY KEY (id)
);

create table public.certificate (
  id uuid not null,
  entry_id uuid not null,
  instance_id uuid not null,
  batch_name text not null,
  instance_name text not null,
  document jsonb not null,
  signature bytea not null,
  key_id text not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint certificate_pkey PRIMARY KEY (id)
);

create table public.effect (
  id uuid not null,
  job_id uuid not null,
  subject_type text not null,
  subject_id text not null,
  epoch bigint not null,
  kind text not null,
  platform text not null,
  name text not null,
  external_id text,
  undo jsonb,
  state text not null default 'intended'::text,
  error jsonb,
  attempts integer not null default 0,
  next_try_at timestamp(3) with time zone,
  waived_by text,
  waived_reason text,
  created_at timestamp(3) with time zone not null default now(),
  updated_at timestamp(3) with time zone not null default now(),
  done_at timestamp(3) with time zone,
  constraint effect_pkey PRIMARY KEY (id),
  constraint effect_state CHECK ((state = ANY (ARRAY['intended'::text, 'done'::text, 'undone'::text, 'debt'::text, 'waived'::text])))
);

create table public.ended_session (
  id bytea not null,
  token_id uuid not null,
  expires_at timestamp(3) with time zone not null,
  ended_at timestamp(3) with time zone not null default now(),
  constraint ended_session_pkey PRIMARY KEY (id)
);

create table public.entry (
  id uuid not null,
  batch_id uuid not null,
  instance_id uuid not null,
  source_id uuid not null,
  target_id uuid,
  state text not null,
  stage text not null default 'background'::text,
  reason text not null,
  message text not null,
  reasons jsonb not null default '[]'::jsonb,
  error jsonb,
  since timestamp(3) with time zone not null default now(),
  look_at timestamp(3) with time zone not null default now(),
  job_id uuid,
  version bigint not null default 1,
  revision bigint not null,
  facts jsonb not null,
  placement jsonb,
  pending jsonb,
  running boolean not null,
  machine_ref text,
  source_stopped_at timestamp(3) with time zone,
  window_id uuid,
  constraint_name text,
  synced_at timestamp(3) with time zone,
  retries integer not null default 0,
  tries integer not null default 0,
  intent jsonb,
  resolved boolean not null default false,
  force boolean not null default false,
  progress jsonb,
  baseline jsonb,
  certificate_id uuid,
  created_at timestamp(3) with time zone not null default now(),
  updated_at timestamp(3) with time zone not null default now(),
  finished_at timestamp(3) with time zone,
  source_off_at timestamp(3) with time zone,
  guest_until timestamp(3) with time zone,
  constraint entry_pkey PRIMARY KEY (id),
  constraint entry_stage CHECK ((stage = ANY (ARRAY['background'::text, 'final'::text, 'complete'::text]))),
  constraint entry_state CHECK ((state = ANY (ARRAY['blocked'::text, 'waiting'::text, 'creating'::text, 'background-import'::text, 'idle'::text, 'final-import'::text, 'post-import'::text, 'worker-done'::text, 'finished'::text, 'error'::text, 'canceled'::text, 'conflict'::text])))
);

create table public.entry_disk (
  entry_id uuid not null,
  disk text not null,
  target_disk text not null,
  capacity bigint not null,
  change_id text,
  cycle jsonb,
  constraint entry_disk_entry_id_disk_pk PRIMARY KEY (entry_id, disk)
);

create table public.entry_extent (
  entry_id uuid not null,
  disk text not null,
  at integer not null,
  digest bytea not null,
  cycle integer not null,
  constraint entry_extent_entry_id_disk_at_pk PRIMARY KEY (entry_id, disk, at)
);

create table public.entry_history (
  id uuid not null,
  source_id uuid not null,
  target_id uuid not null,
  phase text not null,
  bytes bigint not null,
  took_ms bigint not null,
  at timestamp(3) with time zone not null default now(),
  constraint entry_history_pkey PRIMARY KEY (id)
);

create table public.event (
  era smallint not null default 1,
  xid xid8 not null default pg_current_xact_id(),
  id bigint not null generated always as identity,
  at timestamp(3) with time zone not null default now(),
  type text not null,
  subject_type text not null,
  subject_id text not null,
  job_id uuid,
  actor text not null,
  from_state text,
  to_state text,
  reason text,
  detail jsonb,
  constraint event_era_xid_id_pk PRIMARY KEY (era, xid, id)
);

create table public.event_floor (
  single boolean not null default true,
  kept_days_min integer not null,
  constraint event_floor_only CHECK ((single AND (kept_days_min >= 1))),
  constraint event_floor_pkey PRIMARY KEY (single)
);

create table public.event_prune (
  from_seq bigint not null,
  to_seq bigint not null,
  kind text not null,
  kept_days integer not null,
  through_hash bytea not null,
  pruned_by text not null,
  at timestamp(3) with time zone not null,
  mac bytea not null,
  constraint event_prune_kind CHECK ((kind = ANY (ARRAY['pruned'::text, 'accepted'::text]))),
  constraint event_prune_moment CHECK (((at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (at < '9999-12-31 00:00:00+00'::timestamp with time zone))) NOT VALID,
  constraint event_prune_pkey PRIMARY KEY (from_seq),
  constraint event_prune_range CHECK (((from_seq >= 1) AND (to_seq >= from_seq))),
  constraint event_prune_seq CHECK ((to_seq <= '9007199254740991'::bigint)) NOT VALID
);

create table public.event_seal (
  seq bigint not null,
  era smallint not null,
  from_xid xid8 not null,
  to_xid xid8 not null,
  events integer not null,
  previous_hash bytea not null,
  hash bytea not null,
  mac bytea not null,
  sealed_at timestamp(3) with time zone not null default now(),
  pruned_at timestamp(3) with time zone,
  version smallint not null default 1,
  constraint event_seal_moment CHECK (((sealed_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (sealed_at < '9999-12-31 00:00:00+00'::timestamp with time zone))) NOT VALID,
  constraint event_seal_pkey PRIMARY KEY (seq),
  constraint event_seal_seq CHECK (((seq >= 1) AND (seq <= '9007199254740991'::bigint))) NOT VALID
);

create table public.finding (
  instance_id uuid not null,
  rule text not null,
  severity text not null,
  evidence jsonb not null,
  waived boolean not null default false,
  since timestamp(3) with time zone not null default now(),
  constraint finding_instance_id_rule_pk PRIMARY KEY (instance_id, rule),
  constraint finding_severity CHECK ((severity = ANY (ARRAY['critical'::text, 'warning'::text, 'info'::text])))
);

create table public.former_key (
  id text not null,
  sealed bytea not null,
  replaced_at timestamp(3) with time zone not null default now(),
  constraint former_key_pkey PRIMARY KEY (id)
);

create table public.host (
  id uuid not null,
  site_id uuid not null,
  ref text not null,
  name text not null,
  hash text not null,
  revision bigint not null,
  first_seen_at timestamp(3) with time zone not null default now(),
  changed_at timestamp(3) with time zone not null default now(),
  gone_at timestamp(3) with time zone,
  facts jsonb not null,
  constraint host_pkey PRIMARY KEY (id)
);

create table public.image (
  id uuid not null,
  name text not null,
  source jsonb not null,
  expected_digest text,
  digest text,
  size_bytes bigint,
  verified text,
  require_manifest boolean not null default false,
  state text not null default 'importing'::text,
  facts jsonb,
  ovf text,
  error jsonb,
  job_id uuid,
  version integer not null default 1,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  deleted_at timestamp(3) with time zone,
  constraint image_deleted CHECK (((state = 'deleted'::text) = (deleted_at IS NOT NULL))),
  constraint image_digests CHECK (((COALESCE(digest, ''::text) ~ '^([0-9a-f]{64})?$'::text) AND (COALESCE(expected_digest, ''::text) ~ '^([0-9a-f]{64})?$'::text))),
  constraint image_pkey PRIMARY KEY (id),
  constraint image_ready CHECK (((state <> 'ready'::text) OR ((digest IS NOT NULL) AND (facts IS NOT NULL)))),
  constraint image_state CHECK ((state = ANY (ARRAY['importing'::text, 'ready'::text, 'failed'::text, 'deleted'::text]))),
  constraint image_verified CHECK ((verified = ANY (ARRAY['signature'::text, 'manifest'::text, 'none'::text])))
);

create table public.image_replica (
  id uuid not null,
  image_id uuid not null,
  target_id uuid not null,
  folder text not null default ''::text,
  project text not null default ''::text,
  pool text not null default ''::text,
  host text not null default ''::text,
  network text not null default ''::text,
  ref text,
  state text not null default 'importing'::text,
  template_id uuid,
  created_at timestamp(3) with time zone not null default now(),
  gone_at timestamp(3) with time zone,
  constraint image_replica_gone CHECK (((state = 'gone'::text) = (gone_at IS NOT NULL))),
  constraint image_replica_pkey PRIMARY KEY (id),
  constraint image_replica_ready CHECK (((state <> 'ready'::text) OR (ref IS NOT NULL))),
  constraint image_replica_state CHECK ((state = ANY (ARRAY['importing'::text, 'ready'::text, 'removing'::text, 'gone'::text])))
);

create table public.instance (
  id uuid not null,
  site_id uuid not null,
  ref text not null,
  name text not null,
  hash text not null,
  revision bigint not null,
  first_seen_at timestamp(3) with time zone not null default now(),
  changed_at timestamp(3) with time zone not null default now(),
  gone_at timestamp(3) with time zone,
  uuid text not null,
  location text not null,
  facts jsonb not null,
  os_type text not null,
  distribution text not null,
  distribution_version text not null,
  overrides jsonb not null default '{}'::jsonb,
  version integer not null default 1,
  tracking jsonb not null default '{}'::jsonb,
  frozen_by text,
  pending jsonb,
  pending_since timestamp(3) with time zone,
  ignored text,
  ignored_detail text,
  problem jsonb,
  notes jsonb not null default '[]'::jsonb,
  readiness text not null default 'ready'::text,
  rules_version text not null default ''::text,
  constraint instance_pkey PRIMARY KEY (id),
  constraint instance_readiness CHECK ((readiness = ANY (ARRAY['ready'::text, 'warning'::text, 'blocked'::text])))
);

create table public.instance_identity (
  kind text not null,
  value text not null,
  instance_id uuid not null,
  constraint instance_identity_kind CHECK ((kind = ANY (ARRAY['uuid'::text, 'mac'::text, 'address'::text, 'name'::text]))),
  constraint instance_identity_kind_value_instance_id_pk PRIMARY KEY (kind, value, instance_id)
);

create table public.inventory_stage (
  job_id uuid not null,
  epoch bigint not null,
  kind text not null,
  ref text not null,
  action text not null,
  record_id uuid,
  base text,
  hash text,
  name text not null,
  facts jsonb,
  more jsonb,
  constraint inventory_stage_action CHECK ((action = ANY (ARRAY['seen'::text, 'gone'::text, 'problem'::text, 'insert'::text, 'update'::text, 'return'::text, 'pend'::text, 'settle'::text]))),
  constraint inventory_stage_job_id_epoch_kind_ref_pk PRIMARY KEY (job_id, epoch, kind, ref),
  constraint inventory_stage_kind CHECK ((kind = ANY (ARRAY['instance'::text, 'network'::text, 'host'::text, 'storage'::text, 'project'::text])))
);

create table public.job (
  id uuid not null,
  kind text not null,
  subject_type text not null,
  subject_id text not null,
  idempotency_key text,
  payload jsonb not null,
  payload_version smallint not null,
  state text not null default 'ready'::text,
  bell text not null default 'due'::text,
  priority smallint not null default 0,
  lane text not null,
  run_after timestamp(3) with time zone not null default now(),
  deadline timestamp(3) with time zone,
  publish integer not null default 0,
  published_at timestamp(3) with time zone,
  attempt smallint not null default 0,
  environment_attempt smallint not null default 0,
  lost smallint not null default 0,
  generation integer not null default 1,
  lease_epoch bigint not null default 0,
  lease_until timestamp(3) with time zone,
  worker_id uuid,
  tokens text[] not null default '{}'::text[],
  wait_reason text,
  wait_detail text,
  wait_since timestamp(3) with time zone,
  wait_until timestamp(3) with time zone,
  wait_signal text,
  cancel_requested_at timestamp(3) with time zone,
  cancel_requested_by text,
  cancel_reason text,
  progress jsonb,
  checkpoint jsonb,
  result jsonb,
  error jsonb,
  trace text,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  claimed_at timestamp(3) with time zone,
  claimed_in pg_snapshot,
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  constraint job_bell CHECK ((bell = ANY (ARRAY['held'::text, 'due'::text, 'rung'::text]))),
  constraint job_end CHECK (((state = ANY (ARRAY['succeeded'::text, 'failed'::text, 'canceled'::text])) = (finished_at IS NOT NULL))),
  constraint job_lease CHECK (((state = 'running'::text) = (lease_until IS NOT NULL))),
  constraint job_pkey PRIMARY KEY (id),
  constraint job_state CHECK ((state = ANY (ARRAY['ready'::text, 'running'::text, 'waiting'::text, 'succeeded'::text, 'failed'::text, 'canceled'::text]))),
  constraint job_wait CHECK (((state <> 'waiting'::text) OR ((wait_reason IS NOT NULL) AND (wait_since IS NOT NULL) AND (wait_until IS NOT NULL))))
);

create table public.job_search (
  job_id uuid not null,
  kind text not null,
  lane text not null,
  subject_type text not null,
  subject_id text not null,
  constraint job_search_kind_job_id_pk PRIMARY KEY (kind, job_id)
);

create table public.ledger_fact (
  name text not null,
  value text not null,
  updated_at timestamp(3) with time zone not null default now(),
  constraint ledger_fact_pkey PRIMARY KEY (name)
);

create table public.machine (
  id uuid not null,
  target_id uuid not null,
  ref text not null,
  name text not null,
  uuid text not null,
  project text not null,
  host text not null,
  power text not null,
  saved_state text,
  cpus integer not null,
  memory bigint not null,
  run_policy text not null default 'manual'::text,
  stopped_at timestamp(3) with time zone,
  policy_failures integer not null default 0,
  policy_next_at timestamp(3) with time zone not null default now(),
  origin text not null,
  entry_id uuid,
  instance_id uuid,
  version integer not null default 1,
  seen_at timestamp(3) with time zone not null default now(),
  created_at timestamp(3) with time zone not null default now(),
  gone_at timestamp(3) with time zone,
  macs text[] not null default '{}'::text[],
  constraint machine_origin CHECK ((origin = ANY (ARRAY['migrated'::text, 'copy'::text, 'adopted'::text]))),
  constraint machine_pkey PRIMARY KEY (id),
  constraint machine_policy CHECK ((run_policy = ANY (ARRAY['manual'::text, 'always-on'::text, 'always-on-unless-stopped'::text, 'always-off'::text]))),
  constraint machine_power CHECK ((power = ANY (ARRAY['on'::text, 'off'::text, 'suspended'::text, 'unknown'::text])))
);

create table public.network (
  id uuid not null,
  site_id uuid not null,
  ref text not null,
  name text not null,
  hash text not null,
  revision bigint not null,
  first_seen_at timestamp(3) with time zone not null default now(),
  changed_at timestamp(3) with time zone not null default now(),
  gone_at timestamp(3) with time zone,
  location text not null,
  facts jsonb not null,
  overrides jsonb not null default '{}'::jsonb,
  version integer not null default 1,
  constraint network_pkey PRIMARY KEY (id)
);

create table public.operation (
  id uuid not null,
  seq bigint not null generated always as identity,
  machine_id uuid not null,
  kind text not null,
  force boolean not null default false,
  params jsonb not null default '{}'::jsonb,
  state text not null,
  reason text not null,
  message text not null,
  reason_at timestamp(3) with time zone not null default now(),
  error jsonb,
  on_conflict text not null,
  cause text not null default 'person'::text,
  stands_down boolean not null default false,
  resumes uuid,
  leaves text,
  failures integer not null default 0,
  come_back_at timestamp(3) with time zone,
  deadline_seconds integer not null,
  deadline_at timestamp(3) with time zone,
  expires_at timestamp(3) with time zone not null,
  in_line_since timestamp(3) with time zone,
  let_in_at timestamp(3) with time zone,
  progress integer not null default 0,
  past_return boolean not null default false,
  superseded_by uuid,
  job_id uuid,
  result jsonb,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  started_at timestamp(3) with time zone,
  finished_at timestamp(3) with time zone,
  settled_at timestamp(3) with time zone,
  updated_at timestamp(3) with time zone not null default now(),
  constraint operation_cause CHECK ((cause = ANY (ARRAY['person'::text, 'evacuation'::text, 'policy'::text]))),
  constraint operation_pkey PRIMARY KEY (id),
  constraint operation_progress CHECK (((progress >= 0) AND (progress <= 100))),
  constraint operation_state CHECK ((state = ANY (ARRAY['queued'::text, 'pending'::text, 'running'::text, 'completed'::text, 'failed'::text, 'canceled'::text, 'superseded'::text])))
);

create table public.operation_end (
  id bigint not null generated always as identity,
  kind text not null,
  force boolean not null,
  outcome text not null,
  reason text not null,
  waited_seconds double precision not null default 0,
  ran_seconds double precision not null default 0,
  constraint operation_end_pkey PRIMARY KEY (id)
);

create table public.operation_refusal (
  machine_id uuid not null,
  kind text not null,
  force boolean not null,
  reason text not null,
  asked_by text not null,
  times integer not null,
  unsaid integer not null default 0,
  since timestamp(3) with time zone not null,
  constraint operation_refusal_machine_id_kind_force_reason_asked_by_pk PRIMARY KEY (machine_id, kind, force, reason, asked_by)
);

create table public.operation_span (
  kind text not null,
  outcome text not null,
  span text not null,
  le double precision not null,
  times bigint not null,
  seconds double precision not null,
  constraint operation_span_kind_outcome_span_le_pk PRIMARY KEY (kind, outcome, span, le)
);

create table public.operation_tally (
  kind text not null,
  force boolean not null,
  outcome text not null,
  reason text not null,
  times bigint not null,
  constraint operation_tally_kind_force_outcome_reason_pk PRIMARY KEY (kind, force, outcome, reason)
);

create table public.pause (
  scope text not null,
  name text not null,
  reason text not null,
  paused_by text not null,
  paused_at timestamp(3) with time zone not null default now(),
  constraint pause_scope CHECK ((scope = ANY (ARRAY['kind'::text, 'lane'::text]))),
  constraint pause_scope_name_pk PRIMARY KEY (scope, name)
);

create table public.project (
  id uuid not null,
  site_id uuid not null,
  ref text not null,
  name text not null,
  hash text not null,
  revision bigint not null,
  first_seen_at timestamp(3) with time zone not null default now(),
  changed_at timestamp(3) with time zone not null default now(),
  gone_at timestamp(3) with time zone,
  facts jsonb not null,
  constraint project_pkey PRIMARY KEY (id)
);

create table public.schema_support (
  single boolean not null default true,
  migrations_min integer not null,
  constraint schema_support_only CHECK (single),
  constraint schema_support_pkey PRIMARY KEY (single)
);

create table public.sealing_key (
  id text not null,
  check_value bytea not null,
  entered_at timestamp(3) with time zone not null default now(),
  constraint sealing_key_pkey PRIMARY KEY (id)
);

create table public.setting (
  name text not null,
  value jsonb not null,
  version integer not null default 1,
  updated_by text not null,
  updated_at timestamp(3) with time zone not null default now(),
  constraint setting_pkey PRIMARY KEY (name)
);

create table public.signal (
  name text not null,
  at timestamp(3) with time zone not null,
  xid xid8 not null default pg_current_xact_id(),
  constraint signal_pkey PRIMARY KEY (name)
);

create table public.signing_key (
  id text not null,
  public_key bytea not null,
  private_key bytea,
  created_at timestamp(3) with time zone not null default now(),
  retired_at timestamp(3) with time zone,
  follows text,
  vouched bytea,
  constraint signing_key_pkey PRIMARY KEY (id)
);

create table public.site (
  id uuid not null,
  role text not null,
  name text not null,
  kind text not null,
  endpoint text not null,
  username text not null,
  secret bytea,
  ca text not null default ''::text,
  fingerprint text not null default ''::text,
  seen_certificate jsonb,
  settings jsonb not null,
  connectivity text not null default 'unknown'::text,
  connectivity_error jsonb,
  connectivity_since timestamp(3) with time zone not null default now(),
  checked_at timestamp(3) with time zone,
  next_check_at timestamp(3) with time zone not null default now(),
  identity jsonb,
  capabilities text[] not null default '{}'::text[],
  revision bigint not null default 0,
  cursor bytea,
  sync_job_id uuid,
  synced_at timestamp(3) with time zone,
  full_synced_at timestamp(3) with time zone,
  next_sync_at timestamp(3) with time zone not null default now(),
  sync_error jsonb,
  sync_failures integer not null default 0,
  sync_result jsonb,
  version integer not null default 1,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  updated_at timestamp(3) with time zone not null default now(),
  constraint site_connectivity CHECK ((connectivity = ANY (ARRAY['unknown'::text, 'ok'::text, 'cannot-connect'::text, 'tls-error'::text, 'confirm-fingerprint'::text, 'authentication-error'::text]))),
  constraint site_pkey PRIMARY KEY (id),
  constraint site_role CHECK ((role = ANY (ARRAY['source'::text, 'target'::text])))
);

create table public.storage (
  id uuid not null,
  site_id uuid not null,
  ref text not null,
  name text not null,
  hash text not null,
  revision bigint not null,
  first_seen_at timestamp(3) with time zone not null default now(),
  changed_at timestamp(3) with time zone not null default now(),
  gone_at timestamp(3) with time zone,
  facts jsonb not null,
  constraint storage_pkey PRIMARY KEY (id)
);

create table public.template (
  id uuid not null,
  name text not null,
  target_id uuid not null,
  folder text not null default ''::text,
  production text not null,
  project text not null default ''::text,
  pool text not null default ''::text,
  host text not null default ''::text,
  network text not null default ''::text,
  image_id uuid not null,
  version_live integer,
  version_wanted integer not null,
  keep_versions integer not null default 2,
  grace_seconds integer not null default 600,
  allow_downgrade boolean not null default false,
  state text not null,
  reason text not null,
  message text not null,
  error jsonb,
  job_id uuid,
  version integer not null default 1,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  updated_at timestamp(3) with time zone not null default now(),
  deleted_at timestamp(3) with time zone,
  constraint template_pkey PRIMARY KEY (id),
  constraint template_production CHECK (((char_length(production) >= 1) AND (char_length(production) <= 80))),
  constraint template_settings CHECK ((((keep_versions >= 0) AND (keep_versions <= 20)) AND ((grace_seconds >= 0) AND (grace_seconds <= 604800)))),
  constraint template_state CHECK ((state = ANY (ARRAY['absent'::text, 'swapping'::text, 'live'::text, 'conflict'::text])))
);

create table public.template_version (
  template_id uuid not null,
  number integer not null,
  image_id uuid not null,
  replica_id uuid,
  state text not null default 'wanted'::text,
  cause text not null,
  by text not null,
  asked_at timestamp(3) with time zone not null default now(),
  live_at timestamp(3) with time zone,
  retired_at timestamp(3) with time zone,
  swap_ms bigint,
  gap_ms bigint,
  error jsonb,
  constraint template_version_cause CHECK ((cause = ANY (ARRAY['create'::text, 'update'::text, 'rollback'::text]))),
  constraint template_version_number CHECK ((number > 0)),
  constraint template_version_state CHECK ((state = ANY (ARRAY['wanted'::text, 'live'::text, 'kept'::text, 'gone'::text, 'withdrawn'::text]))),
  constraint template_version_template_id_number_pk PRIMARY KEY (template_id, number)
);

create table public.token_hold (
  token text not null,
  job_id uuid not null,
  epoch bigint not null,
  acquired_at timestamp(3) with time zone not null default now(),
  constraint token_hold_token_job_id_pk PRIMARY KEY (token, job_id)
);

create table public.waiver (
  id uuid not null,
  rule text not null,
  instance_id uuid,
  reason text not null,
  until timestamp(3) with time zone,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint waiver_pkey PRIMARY KEY (id)
);

create table public.warning (
  id uuid not null,
  type text not null,
  entity_type text not null,
  entity_id text not null,
  entity_name text not null,
  status text not null default 'new'::text,
  messages jsonb not null,
  count integer not null default 1,
  first_seen_at timestamp(3) with time zone not null default now(),
  last_seen_at timestamp(3) with time zone not null default now(),
  acknowledged_by text,
  acknowledged_at timestamp(3) with time zone,
  constraint warning_pkey PRIMARY KEY (id),
  constraint warning_status CHECK ((status = ANY (ARRAY['new'::text, 'acknowledged'::text])))
);

create table public.webhook (
  id uuid not null,
  name text not null,
  url text not null,
  secret bytea not null,
  types text[] not null default '{}'::text[],
  state text not null default 'active'::text,
  version integer not null default 1,
  cursor_era smallint not null,
  cursor_xid xid8 not null,
  cursor_id bigint not null,
  failures integer not null default 0,
  next_try_at timestamp(3) with time zone not null default now(),
  last_error text,
  last_delivered_at timestamp(3) with time zone,
  created_by text not null,
  created_at timestamp(3) with time zone not null default now(),
  updated_at timestamp(3) with time zone not null default now(),
  sealed_url bytea,
  constraint webhook_pkey PRIMARY KEY (id),
  constraint webhook_state CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text])))
);

create table public.worker (
  id uuid not null,
  role text not null,
  host text not null,
  pid integer not null,
  version text not null,
  kinds jsonb not null,
  slots jsonb not null,
  state text not null default 'active'::text,
  started_at timestamp(3) with time zone not null default now(),
  heartbeat_at timestamp(3) with time zone not null default now(),
  stopped_at timestamp(3) with time zone,
  constraint worker_pkey PRIMARY KEY (id),
  constraint worker_state CHECK ((state = ANY (ARRAY['active'::text, 'draining'::text, 'stopped'::text, 'lost'::text])))
);

create table self_test.call (
  id bigint not null generated always as identity,
  job_id uuid not null,
  name text not null,
  action text not null,
  epoch bigint not null,
  pid integer not null,
  at timestamp(3) with time zone not null default now(),
  constraint call_pkey PRIMARY KEY (id)
);

create table self_test.marker (
  name text not null,
  job_id uuid not null,
  created_at timestamp(3) with time zone not null default now(),
  constraint marker_pkey PRIMARY KEY (name)
);

CREATE UNIQUE INDEX access_token_hash ON public.access_token USING btree (hash);

CREATE UNIQUE INDEX access_token_name ON public.access_token USING btree (name) WHERE (revoked_at IS NULL);

CREATE INDEX api_request_created ON public.api_request USING btree (created_at);

CREATE INDEX batch_instance_instance ON public.batch_instance USING btree (instance_id);

CREATE UNIQUE INDEX batch_name ON public.batch USING btree (name);

CREATE INDEX batch_plan_batch ON public.batch_plan USING btree (batch_id, created_at);

CREATE UNIQUE INDEX batch_window_name ON public.batch_window USING btree (batch_id, name);

CREATE INDEX certificate_instance ON public.certificate USING btree (instance_id, created_at);

CREATE INDEX certificate_machine ON public.certificate USING btree ((((document -> 'target'::text) ->> 'machine'::text)));

CREATE INDEX certificate_uuid ON public.certificate USING btree ((((document -> 'instance'::text) ->> 'uuid'::text)));

CREATE INDEX effect_debt ON public.effect USING btree (next_try_at) WHERE (state = 'debt'::text);

CREATE UNIQUE INDEX effect_name ON public.effect USING btree (job_id, kind, name);

CREATE INDEX effect_not_done ON public.effect USING btree (state, id) WHERE (state <> 'done'::text);

CREATE INDEX effect_subject ON public.effect USING btree (subject_type, subject_id);

CREATE INDEX ended_session_expires ON public.ended_session USING btree (expires_at);

CREATE INDEX entry_batch ON public.entry USING btree (batch_id, state, id);

CREATE INDEX entry_down ON public.entry USING btree (source_stopped_at) WHERE ((source_stopped_at IS NOT NULL) AND (state <> 'finished'::text));

CREATE INDEX entry_history_pair ON public.entry_history USING btree (source_id, target_id, phase, at);

CREATE UNIQUE INDEX entry_instance ON public.entry USING btree (instance_id);

CREATE INDEX entry_job ON public.entry USING btree (job_id) WHERE (job_id IS NOT NULL);

CREATE INDEX entry_look ON public.entry USING btree (look_at) WHERE ((state <> ALL (ARRAY['finished'::text, 'error'::text, 'canceled'::text])) OR (intent IS NOT NULL) OR ((state <> 'finished'::text) AND ((job_id IS NOT NULL) OR (source_stopped_at IS NOT NULL))));

CREATE INDEX entry_machine ON public.entry USING btree (target_id, machine_ref) WHERE (machine_ref IS NOT NULL);

CREATE INDEX entry_window ON public.entry USING btree (window_id) WHERE (window_id IS NOT NULL);

CREATE INDEX event_job ON public.event USING btree (job_id, id) WHERE (job_id IS NOT NULL);

CREATE INDEX event_subject ON public.event USING btree (subject_type, subject_id, id) WHERE (job_id IS NULL);

CREATE INDEX finding_rule ON public.finding USING btree (rule, instance_id);

CREATE INDEX finding_waived ON public.finding USING btree (instance_id) WHERE waived;

CREATE INDEX host_name ON public.host USING btree (site_id, name, id);

CREATE UNIQUE INDEX host_ref ON public.host USING btree (site_id, ref) WHERE (gone_at IS NULL);

CREATE INDEX image_digest ON public.image USING btree (digest) WHERE (digest IS NOT NULL);

CREATE UNIQUE INDEX image_name ON public.image USING btree (name) WHERE (deleted_at IS NULL);

CREATE INDEX image_replica_image ON public.image_replica USING btree (image_id);

CREATE UNIQUE INDEX image_replica_ref ON public.image_replica USING btree (target_id, ref) WHERE ((ref IS NOT NULL) AND (state <> 'gone'::text));

CREATE UNIQUE INDEX image_replica_shelf ON public.image_replica USING btree (image_id, target_id, folder) WHERE ((template_id IS NULL) AND (state = 'ready'::text));

CREATE INDEX image_replica_template ON public.image_replica USING btree (template_id) WHERE (template_id IS NOT NULL);

CREATE INDEX instance_attention ON public.instance USING btree (site_id) WHERE ((ignored IS NOT NULL) OR (problem IS NOT NULL) OR (notes <> '[]'::jsonb));

CREATE INDEX instance_changed ON public.instance USING btree (site_id, revision);

CREATE INDEX instance_identity_instance ON public.instance_identity USING btree (instance_id);

CREATE INDEX instance_place ON public.instance USING btree (site_id, location, id);

CREATE UNIQUE INDEX instance_ref ON public.instance USING btree (site_id, ref) WHERE (gone_at IS NULL);

CREATE INDEX instance_rules ON public.instance USING btree (rules_version) WHERE (gone_at IS NULL);

CREATE INDEX instance_site_ref ON public.instance USING btree (site_id, ref);

CREATE INDEX instance_uuid ON public.instance USING btree (uuid);

CREATE INDEX job_cancel ON public.job USING btree (worker_id) WHERE ((cancel_requested_at IS NOT NULL) AND (finished_at IS NULL));

CREATE INDEX job_canceled ON public.job USING btree (id) WHERE (state = 'canceled'::text);

CREATE INDEX job_deadline ON public.job USING btree (deadline) WHERE ((deadline IS NOT NULL) AND (finished_at IS NULL));

CREATE INDEX job_due ON public.job USING btree (kind, lane, priority DESC NULLS LAST, id) WHERE ((state = 'ready'::text) AND (bell = 'due'::text));

CREATE INDEX job_failed ON public.job USING btree (id) WHERE (state = 'failed'::text);

CREATE INDEX job_finished ON public.job USING btree (finished_at) WHERE (finished_at IS NOT NULL);

CREATE INDEX job_held ON public.job USING btree (run_after) WHERE ((state = 'ready'::text) AND (bell = 'held'::text));

CREATE UNIQUE INDEX job_idempotency_key ON public.job USING btree (idempotency_key) WHERE (idempotency_key IS NOT NULL);

CREATE INDEX job_leased ON public.job USING btree (lease_until) WHERE (lease_until IS NOT NULL);

CREATE INDEX job_rung ON public.job USING btree (kind, lane) WHERE ((state = 'ready'::text) AND (bell = 'rung'::text));

CREATE INDEX job_search_lane ON public.job_search USING btree (lane, job_id);

CREATE INDEX job_search_subject ON public.job_search USING btree (subject_type, subject_id, job_id);

CREATE INDEX job_wait_signal ON public.job USING btree (wait_signal) WHERE (state = 'waiting'::text);

CREATE INDEX job_waiting ON public.job USING btree (wait_until) WHERE (state = 'waiting'::text);

CREATE INDEX machine_entry ON public.machine USING btree (entry_id) WHERE (entry_id IS NOT NULL);

CREATE INDEX machine_gone ON public.machine USING btree (gone_at) WHERE (gone_at IS NOT NULL);

CREATE INDEX machine_host ON public.machine USING btree (target_id, host);

CREATE INDEX machine_instance ON public.machine USING btree (instance_id) WHERE (instance_id IS NOT NULL);

CREATE INDEX machine_name ON public.machine USING btree (name, id);

CREATE INDEX machine_policy_due ON public.machine USING btree (policy_next_at, id) WHERE ((gone_at IS NULL) AND (run_policy <> 'manual'::text) AND
CASE run_policy
    WHEN 'always-off'::text THEN (power = 'on'::text)
    ELSE (power = 'off'::text)
END);

CREATE UNIQUE INDEX machine_ref ON public.machine USING btree (target_id, ref);

CREATE INDEX machine_uuid ON public.machine USING btree (uuid) WHERE ((uuid <> ''::text) AND (gone_at IS NULL));

CREATE INDEX network_place ON public.network USING btree (site_id, location, id);

CREATE UNIQUE INDEX network_ref ON public.network USING btree (site_id, ref) WHERE (gone_at IS NULL);

CREATE UNIQUE INDEX operation_active ON public.operation USING btree (machine_id) WHERE (state = ANY (ARRAY['pending'::text, 'running'::text]));

CREATE INDEX operation_cause ON public.operation USING btree (cause, id) WHERE (cause <> 'person'::text);

CREATE INDEX operation_comes_back ON public.operation USING btree (come_back_at) WHERE (come_back_at IS NOT NULL);

CREATE INDEX operation_finished ON public.operation USING btree (finished_at, id) WHERE (finished_at IS NOT NULL);

CREATE INDEX operation_job ON public.operation USING btree (job_id) WHERE (job_id IS NOT NULL);

CREATE INDEX operation_kind ON public.operation USING btree (kind, id);

CREATE INDEX operation_machine ON public.operation USING btree (machine_id, id);

CREATE INDEX operation_open ON public.operation USING btree (machine_id, seq) WHERE (settled_at IS NULL);

CREATE INDEX operation_rare ON public.operation USING btree (state, id) WHERE (state = ANY (ARRAY['failed'::text, 'canceled'::text, 'superseded'::text]));

CREATE INDEX operation_reason ON public.operation USING btree (reason, id) WHERE (settled_at IS NOT NULL);

CREATE INDEX operation_refusal_since ON public.operation_refusal USING btree (since);

CREATE INDEX operation_superseded ON public.operation USING btree (superseded_by) WHERE (superseded_by IS NOT NULL);

CREATE UNIQUE INDEX project_ref ON public.project USING btree (site_id, ref) WHERE (gone_at IS NULL);

CREATE UNIQUE INDEX site_name ON public.site USING btree (role, name);

CREATE INDEX site_next_check ON public.site USING btree (next_check_at);

CREATE INDEX site_next_sync ON public.site USING btree (next_sync_at);

CREATE UNIQUE INDEX storage_ref ON public.storage USING btree (site_id, ref) WHERE (gone_at IS NULL);

CREATE INDEX template_image ON public.template USING btree (image_id) WHERE (deleted_at IS NULL);

CREATE INDEX template_job ON public.template USING btree (job_id) WHERE (job_id IS NOT NULL);

CREATE UNIQUE INDEX template_name ON public.template USING btree (name) WHERE (deleted_at IS NULL);

CREATE UNIQUE INDEX template_place ON public.template USING btree (target_id, folder, production) WHERE (deleted_at IS NULL);

CREATE INDEX template_version_image ON public.template_version USING btree (image_id);

CREATE UNIQUE INDEX template_version_live ON public.template_version USING btree (template_id) WHERE (state = 'live'::text);

CREATE UNIQUE INDEX template_version_wanted ON public.template_version USING btree (template_id) WHERE (state = 'wanted'::text);

CREATE INDEX token_hold_job ON public.token_hold USING btree (job_id);

CREATE INDEX waiver_instance ON public.waiver USING btree (instance_id);

CREATE UNIQUE INDEX waiver_place ON public.waiver USING btree (rule, COALESCE(instance_id, '00000000-0000-0000-0000-000000000000'::uuid));

CREATE INDEX waiver_until ON public.waiver USING btree (until) WHERE (until IS NOT NULL);

CREATE INDEX warning_latest ON public.warning USING btree (last_seen_at);

CREATE UNIQUE INDEX warning_place ON public.warning USING btree (type, entity_type, entity_id);

CREATE UNIQUE INDEX webhook_name ON public.webhook USING btree (name);

CREATE INDEX worker_heartbeat ON public.worker USING btree (heartbeat_at) WHERE (stopped_at IS NULL);

CREATE OR REPLACE FUNCTION public.drover_end_stranded(silent_ms double precision)
 RETURNS integer
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
      select count(*) filter (where ended)::integer from (
        select pg_terminate_backend(a.pid) as ended
        from pg_stat_activity a join pg_roles r on r.oid = a.usesysid
        where a.datname = current_database() and a.pid <> pg_backend_pid()
          and a.application_name like 'drover-%' and a.state = 'active' and a.wait_event = 'ClientRead'
          and a.state_change < now() - greatest(silent_ms, 1000) * interval '1 millisecond'
          and (r.rolname = current_user or not r.rolsuper and pg_has_role('pg_signal_backend', 'usage')
            and exists (select from pg_roles g where g.rolname in ('drover_api', 'drover_conductor', 'drover_worker', 'drover_lab') and pg_has_role(r.oid, g.oid, 'member')))
      ) stranded
    $function$;

CREATE OR REPLACE FUNCTION public.drover_prune_events(p_from_seq bigint, p_to_seq bigint, p_kind text, p_kept_days integer, p_through_hash bytea, p_pruned_by text, p_at timestamp with time zone, p_mac bytea, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET "TimeZone" TO 'UTC'
AS $function$
DECLARE
  floor_days integer;
  newest public.event_prune%ROWTYPE;
  oldest_kept timestamptz;
  deleted integer;
BEGIN
  IF p_limit IS NULL OR p_limit NOT BETWEEN 1 AND 10000 THEN
    RAISE EXCEPTION 'drover_prune_events removes 1 to 10000 events a call';
  END IF;
  IF p_at IS NULL OR p_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-30 00:00:00+00' THEN
    RAISE EXCEPTION 'the moment of a statement is out of range: %', p_at;
  END IF;
  LOCK TABLE public.event_prune IN SHARE ROW EXCLUSIVE MODE;
  SELECT kept_days_min INTO floor_days FROM public.event_floor;
  IF floor_days IS NULL THEN
    RAISE EXCEPTION 'public.event_floor is empty: drover migrate fills it';
  END IF;
  SELECT * INTO newest FROM public.event_prune ORDER BY from_seq DESC LIMIT 1;
  IF newest.from_seq IS NOT DISTINCT FROM p_from_seq AND newest.from_seq IS NOT NULL THEN
    IF newest.to_seq IS DISTINCT FROM p_to_seq OR newest.mac IS DISTINCT FROM p_mac THEN
      RAISE EXCEPTION 'there is another statement about seal %', p_from_seq;
    END IF;
  ELSE
    IF p_from_seq IS DISTINCT FROM coalesce(newest.to_seq, 0) + 1 OR p_to_seq < p_from_seq THEN
      RAISE EXCEPTION 'seals are pruned in order, and the next one is %', coalesce(newest.to_seq, 0) + 1;
    END IF;
    IF p_kept_days IS NULL OR p_kept_days < floor_days THEN
      RAISE EXCEPTION 'events are kept for % days at least', floor_days;
    END IF;
    oldest_kept := clock_timestamp() - make_interval(days => p_kept_days);
    IF (SELECT count(*) FROM public.event_seal WHERE seq BETWEEN p_from_seq AND p_to_seq AND sealed_at < oldest_kept
        AND (p_kind <> 'accepted' OR (version = 1 AND pruned_at IS NOT NULL))) <> p_to_seq - p_from_seq + 1
      OR EXISTS (SELECT FROM public.event_seal s JOIN public.event e
        ON e.era = s.era AND e.xid >= s.from_xid AND e.xid < s.to_xid
        WHERE s.seq BETWEEN p_from_seq AND p_to_seq AND e.at >= oldest_kept) THEN
      RAISE EXCEPTION 'a seal of % to % is missing or not % days old', p_from_seq, p_to_seq, p_kept_days;
    END IF;
    INSERT INTO public.event_prune (from_seq, to_seq, kind, kept_days, through_hash, pruned_by, at, mac)
    VALUES (p_from_seq, p_to_seq, p_kind, p_kept_days, p_through_hash, p_pruned_by, p_at, p_mac);
    UPDATE public.event_seal SET pruned_at = clock_timestamp()
    WHERE seq BETWEEN p_from_seq AND p_to_seq AND pruned_at IS NULL;
  END IF;
  DELETE FROM public.event WHERE (era, xid, id) IN (
    SELECT e.era, e.xid, e.id FROM public.event_seal s JOIN public.event e
      ON e.era = s.era AND e.xid >= s.from_xid AND e.xid < s.to_xid
    WHERE s.seq BETWEEN p_from_seq AND p_to_seq LIMIT p_limit);
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END
$function$;

CREATE OR REPLACE FUNCTION public.drover_seal_heads()
 RETURNS TABLE(head bytea, clear_url boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
      select distinct substring(sealed from 1 for 9), false from (
        select secret as sealed from public.site where secret is not null
        union all select secret from public.webhook
        union all select sealed_url from public.webhook where sealed_url is not null
        union all select private_key from public.signing_key where private_key is not null
        union all select sealed from public.former_key
      ) every
      union all select null, true where exists (select from public.webhook where sealed_url is null)
    $function$;

alter table public.ledger_fact enable row level security;
create policy ledger_fact_add on public.ledger_fact for insert with check ((name = ANY (ARRAY['bell-identity'::text, 'secret-keys'::text, 'installation-id'::text])));
create policy ledger_fact_change on public.ledger_fact for update using ((name = ANY (ARRAY['bell-identity'::text, 'secret-keys'::text]))) with check ((name = 'bell-identity'::text));
create policy ledger_fact_read on public.ledger_fact for select using (true);
