CREATE SCHEMA "self_test";
--> statement-breakpoint
CREATE TABLE "access_token" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"hash" "bytea" NOT NULL,
	"hint" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "access_token_role" CHECK ("access_token"."role" in ('viewer', 'operator', 'admin'))
);
--> statement-breakpoint
CREATE TABLE "api_request" (
	"actor" text NOT NULL,
	"key" text NOT NULL,
	"digest" "bytea" NOT NULL,
	"status" smallint,
	"headers" jsonb,
	"body" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "api_request_actor_key_pk" PRIMARY KEY("actor","key")
);
--> statement-breakpoint
CREATE TABLE "setting" (
	"name" text PRIMARY KEY NOT NULL,
	"value" jsonb NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_by" text NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"secret" "bytea" NOT NULL,
	"types" text[] DEFAULT '{}' NOT NULL,
	"state" text DEFAULT 'active' NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"cursor_era" smallint NOT NULL,
	"cursor_xid" "xid8" NOT NULL,
	"cursor_id" bigint NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"next_try_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_error" text,
	"last_delivered_at" timestamp (3) with time zone,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "webhook_state" CHECK ("webhook"."state" in ('active', 'paused'))
);
--> statement-breakpoint
CREATE TABLE "finding" (
	"instance_id" uuid NOT NULL,
	"rule" text NOT NULL,
	"severity" text NOT NULL,
	"evidence" jsonb NOT NULL,
	"waived" boolean DEFAULT false NOT NULL,
	"since" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "finding_instance_id_rule_pk" PRIMARY KEY("instance_id","rule"),
	CONSTRAINT "finding_severity" CHECK ("finding"."severity" in ('critical', 'warning', 'info'))
);
--> statement-breakpoint
CREATE TABLE "instance_identity" (
	"kind" text NOT NULL,
	"value" text NOT NULL,
	"instance_id" uuid NOT NULL,
	CONSTRAINT "instance_identity_kind_value_instance_id_pk" PRIMARY KEY("kind","value","instance_id"),
	CONSTRAINT "instance_identity_kind" CHECK ("instance_identity"."kind" in ('uuid', 'mac', 'address', 'name'))
);
--> statement-breakpoint
CREATE TABLE "waiver" (
	"id" uuid PRIMARY KEY NOT NULL,
	"rule" text NOT NULL,
	"instance_id" uuid,
	"reason" text NOT NULL,
	"until" timestamp (3) with time zone,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "effect" (
	"id" uuid PRIMARY KEY NOT NULL,
	"job_id" uuid NOT NULL,
	"subject_type" text NOT NULL,
	"subject_id" text NOT NULL,
	"epoch" bigint NOT NULL,
	"kind" text NOT NULL,
	"platform" text NOT NULL,
	"name" text NOT NULL,
	"external_id" text,
	"undo" jsonb,
	"state" text DEFAULT 'intended' NOT NULL,
	"error" jsonb,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_try_at" timestamp (3) with time zone,
	"waived_by" text,
	"waived_reason" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "effect_state" CHECK ("effect"."state" in ('intended', 'done', 'undone', 'debt', 'waived'))
);
--> statement-breakpoint
CREATE TABLE "event" (
	"era" smallint DEFAULT 1 NOT NULL,
	"xid" "xid8" DEFAULT pg_current_xact_id() NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "event_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 100),
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"type" text NOT NULL,
	"subject_type" text NOT NULL,
	"subject_id" text NOT NULL,
	"job_id" uuid,
	"actor" text NOT NULL,
	"from_state" text,
	"to_state" text,
	"reason" text,
	"detail" jsonb,
	CONSTRAINT "event_era_xid_id_pk" PRIMARY KEY("era","xid","id")
);
--> statement-breakpoint
CREATE TABLE "event_seal" (
	"seq" bigint PRIMARY KEY NOT NULL,
	"era" smallint NOT NULL,
	"from_xid" "xid8" NOT NULL,
	"to_xid" "xid8" NOT NULL,
	"events" integer NOT NULL,
	"previous_hash" "bytea" NOT NULL,
	"hash" "bytea" NOT NULL,
	"mac" "bytea" NOT NULL,
	"sealed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"pruned_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "admission_limit" (
	"name" text PRIMARY KEY NOT NULL,
	"capacity" integer NOT NULL,
	"updated_by" text NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ledger_fact" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "pause" (
	"scope" text NOT NULL,
	"name" text NOT NULL,
	"reason" text NOT NULL,
	"paused_by" text NOT NULL,
	"paused_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "pause_scope_name_pk" PRIMARY KEY("scope","name"),
	CONSTRAINT "pause_scope" CHECK ("pause"."scope" in ('kind', 'lane'))
);
--> statement-breakpoint
CREATE TABLE "signal" (
	"name" text PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"xid" "xid8" DEFAULT pg_current_xact_id() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token_hold" (
	"token" text NOT NULL,
	"job_id" uuid NOT NULL,
	"epoch" bigint NOT NULL,
	"acquired_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "token_hold_token_job_id_pk" PRIMARY KEY("token","job_id")
);
--> statement-breakpoint
CREATE TABLE "worker" (
	"id" uuid PRIMARY KEY NOT NULL,
	"role" text NOT NULL,
	"host" text NOT NULL,
	"pid" integer NOT NULL,
	"version" text NOT NULL,
	"kinds" jsonb NOT NULL,
	"slots" jsonb NOT NULL,
	"state" text DEFAULT 'active' NOT NULL,
	"started_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"heartbeat_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"stopped_at" timestamp (3) with time zone,
	CONSTRAINT "worker_state" CHECK ("worker"."state" in ('active', 'draining', 'stopped', 'lost'))
);
--> statement-breakpoint
CREATE TABLE "host" (
	"id" uuid PRIMARY KEY NOT NULL,
	"site_id" uuid NOT NULL,
	"ref" text NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"revision" bigint NOT NULL,
	"first_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gone_at" timestamp (3) with time zone,
	"facts" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "instance" (
	"id" uuid PRIMARY KEY NOT NULL,
	"site_id" uuid NOT NULL,
	"ref" text NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"revision" bigint NOT NULL,
	"first_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gone_at" timestamp (3) with time zone,
	"uuid" text NOT NULL,
	"location" text NOT NULL,
	"facts" jsonb NOT NULL,
	"os_type" text NOT NULL,
	"distribution" text NOT NULL,
	"distribution_version" text NOT NULL,
	"overrides" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"tracking" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"frozen_by" text,
	"pending" jsonb,
	"pending_since" timestamp (3) with time zone,
	"ignored" text,
	"ignored_detail" text,
	"problem" jsonb,
	"notes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"readiness" text DEFAULT 'ready' NOT NULL,
	"rules_version" text DEFAULT '' NOT NULL,
	CONSTRAINT "instance_readiness" CHECK ("instance"."readiness" in ('ready', 'warning', 'blocked'))
);
--> statement-breakpoint
CREATE TABLE "inventory_stage" (
	"job_id" uuid NOT NULL,
	"epoch" bigint NOT NULL,
	"kind" text NOT NULL,
	"ref" text NOT NULL,
	"action" text NOT NULL,
	"record_id" uuid,
	"base" text,
	"hash" text,
	"name" text NOT NULL,
	"facts" jsonb,
	"more" jsonb,
	CONSTRAINT "inventory_stage_job_id_epoch_kind_ref_pk" PRIMARY KEY("job_id","epoch","kind","ref"),
	CONSTRAINT "inventory_stage_kind" CHECK ("inventory_stage"."kind" in ('instance', 'network', 'host', 'storage', 'project')),
	CONSTRAINT "inventory_stage_action" CHECK ("inventory_stage"."action" in ('seen', 'gone', 'problem', 'insert', 'update', 'return', 'pend', 'settle'))
);
--> statement-breakpoint
CREATE TABLE "network" (
	"id" uuid PRIMARY KEY NOT NULL,
	"site_id" uuid NOT NULL,
	"ref" text NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"revision" bigint NOT NULL,
	"first_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gone_at" timestamp (3) with time zone,
	"location" text NOT NULL,
	"facts" jsonb NOT NULL,
	"overrides" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"version" integer DEFAULT 1 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "project" (
	"id" uuid PRIMARY KEY NOT NULL,
	"site_id" uuid NOT NULL,
	"ref" text NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"revision" bigint NOT NULL,
	"first_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gone_at" timestamp (3) with time zone,
	"facts" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "site" (
	"id" uuid PRIMARY KEY NOT NULL,
	"role" text NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"endpoint" text NOT NULL,
	"username" text NOT NULL,
	"secret" "bytea",
	"ca" text DEFAULT '' NOT NULL,
	"fingerprint" text DEFAULT '' NOT NULL,
	"seen_certificate" jsonb,
	"settings" jsonb NOT NULL,
	"connectivity" text DEFAULT 'unknown' NOT NULL,
	"connectivity_error" jsonb,
	"connectivity_since" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"checked_at" timestamp (3) with time zone,
	"next_check_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"identity" jsonb,
	"capabilities" text[] DEFAULT '{}' NOT NULL,
	"revision" bigint DEFAULT 0 NOT NULL,
	"cursor" "bytea",
	"sync_job_id" uuid,
	"synced_at" timestamp (3) with time zone,
	"full_synced_at" timestamp (3) with time zone,
	"next_sync_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"sync_error" jsonb,
	"sync_failures" integer DEFAULT 0 NOT NULL,
	"sync_result" jsonb,
	"version" integer DEFAULT 1 NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "site_role" CHECK ("site"."role" in ('source', 'target')),
	CONSTRAINT "site_connectivity" CHECK ("site"."connectivity" in ('unknown', 'ok', 'cannot-connect', 'tls-error', 'confirm-fingerprint',
        'authentication-error'))
);
--> statement-breakpoint
CREATE TABLE "storage" (
	"id" uuid PRIMARY KEY NOT NULL,
	"site_id" uuid NOT NULL,
	"ref" text NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"revision" bigint NOT NULL,
	"first_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"changed_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gone_at" timestamp (3) with time zone,
	"facts" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "warning" (
	"id" uuid PRIMARY KEY NOT NULL,
	"type" text NOT NULL,
	"entity_type" text NOT NULL,
	"entity_id" text NOT NULL,
	"entity_name" text NOT NULL,
	"status" text DEFAULT 'new' NOT NULL,
	"messages" jsonb NOT NULL,
	"count" integer DEFAULT 1 NOT NULL,
	"first_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"acknowledged_by" text,
	"acknowledged_at" timestamp (3) with time zone,
	CONSTRAINT "warning_status" CHECK ("warning"."status" in ('new', 'acknowledged'))
);
--> statement-breakpoint
CREATE TABLE "job" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"subject_type" text NOT NULL,
	"subject_id" text NOT NULL,
	"idempotency_key" text,
	"payload" jsonb NOT NULL,
	"payload_version" smallint NOT NULL,
	"state" text DEFAULT 'ready' NOT NULL,
	"bell" text DEFAULT 'due' NOT NULL,
	"priority" smallint DEFAULT 0 NOT NULL,
	"lane" text NOT NULL,
	"run_after" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deadline" timestamp (3) with time zone,
	"publish" integer DEFAULT 0 NOT NULL,
	"published_at" timestamp (3) with time zone,
	"attempt" smallint DEFAULT 0 NOT NULL,
	"environment_attempt" smallint DEFAULT 0 NOT NULL,
	"lost" smallint DEFAULT 0 NOT NULL,
	"generation" integer DEFAULT 1 NOT NULL,
	"lease_epoch" bigint DEFAULT 0 NOT NULL,
	"lease_until" timestamp (3) with time zone,
	"worker_id" uuid,
	"tokens" text[] DEFAULT '{}' NOT NULL,
	"wait_reason" text,
	"wait_detail" text,
	"wait_since" timestamp (3) with time zone,
	"wait_until" timestamp (3) with time zone,
	"wait_signal" text,
	"cancel_requested_at" timestamp (3) with time zone,
	"cancel_requested_by" text,
	"cancel_reason" text,
	"progress" jsonb,
	"checkpoint" jsonb,
	"result" jsonb,
	"error" jsonb,
	"trace" text,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"claimed_at" timestamp (3) with time zone,
	"claimed_in" "pg_snapshot",
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "job_state" CHECK ("job"."state" in ('ready', 'running', 'waiting', 'succeeded', 'failed', 'canceled')),
	CONSTRAINT "job_bell" CHECK ("job"."bell" in ('held', 'due', 'rung')),
	CONSTRAINT "job_lease" CHECK (("job"."state" = 'running') = ("job"."lease_until" is not null)),
	CONSTRAINT "job_wait" CHECK ("job"."state" <> 'waiting' or ("job"."wait_reason" is not null and "job"."wait_since" is not null and "job"."wait_until" is not null)),
	CONSTRAINT "job_end" CHECK (("job"."state" in ('succeeded', 'failed', 'canceled')) = ("job"."finished_at" is not null))
);
--> statement-breakpoint
CREATE TABLE "job_search" (
	"job_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"lane" text NOT NULL,
	"subject_type" text NOT NULL,
	"subject_id" text NOT NULL,
	CONSTRAINT "job_search_kind_job_id_pk" PRIMARY KEY("kind","job_id")
);
--> statement-breakpoint
CREATE TABLE "batch" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"state" text DEFAULT 'defined' NOT NULL,
	"message" text DEFAULT '' NOT NULL,
	"include_expression" text NOT NULL,
	"defaults" jsonb NOT NULL,
	"config" jsonb NOT NULL,
	"constraints" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"require_approval" boolean DEFAULT false NOT NULL,
	"approval" jsonb,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	"version" integer DEFAULT 1 NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "batch_state" CHECK ("batch"."state" in ('defined', 'running', 'stopped', 'finished', 'error'))
);
--> statement-breakpoint
CREATE TABLE "batch_instance" (
	"batch_id" uuid NOT NULL,
	"instance_id" uuid NOT NULL,
	CONSTRAINT "batch_instance_batch_id_instance_id_pk" PRIMARY KEY("batch_id","instance_id")
);
--> statement-breakpoint
CREATE TABLE "batch_plan" (
	"id" uuid PRIMARY KEY NOT NULL,
	"batch_id" uuid NOT NULL,
	"document" jsonb NOT NULL,
	"digest" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "batch_window" (
	"id" uuid PRIMARY KEY NOT NULL,
	"batch_id" uuid NOT NULL,
	"name" text NOT NULL,
	"starts_at" timestamp (3) with time zone,
	"ends_at" timestamp (3) with time zone,
	"lockout_at" timestamp (3) with time zone,
	"capacity" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "batch_window_order" CHECK ("batch_window"."ends_at" is null or "batch_window"."starts_at" is null or "batch_window"."ends_at" >= "batch_window"."starts_at"),
	CONSTRAINT "batch_window_capacity" CHECK ("batch_window"."capacity" >= 0)
);
--> statement-breakpoint
CREATE TABLE "certificate" (
	"id" uuid PRIMARY KEY NOT NULL,
	"entry_id" uuid NOT NULL,
	"instance_id" uuid NOT NULL,
	"batch_name" text NOT NULL,
	"instance_name" text NOT NULL,
	"document" jsonb NOT NULL,
	"signature" "bytea" NOT NULL,
	"key_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "entry" (
	"id" uuid PRIMARY KEY NOT NULL,
	"batch_id" uuid NOT NULL,
	"instance_id" uuid NOT NULL,
	"source_id" uuid NOT NULL,
	"target_id" uuid,
	"state" text NOT NULL,
	"stage" text DEFAULT 'background' NOT NULL,
	"reason" text NOT NULL,
	"message" text NOT NULL,
	"reasons" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"error" jsonb,
	"since" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"look_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"job_id" uuid,
	"version" bigint DEFAULT 1 NOT NULL,
	"revision" bigint NOT NULL,
	"facts" jsonb NOT NULL,
	"placement" jsonb,
	"pending" jsonb,
	"running" boolean NOT NULL,
	"machine_ref" text,
	"source_stopped_at" timestamp (3) with time zone,
	"window_id" uuid,
	"constraint_name" text,
	"synced_at" timestamp (3) with time zone,
	"retries" integer DEFAULT 0 NOT NULL,
	"tries" integer DEFAULT 0 NOT NULL,
	"intent" jsonb,
	"resolved" boolean DEFAULT false NOT NULL,
	"force" boolean DEFAULT false NOT NULL,
	"progress" jsonb,
	"baseline" jsonb,
	"certificate_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone,
	CONSTRAINT "entry_state" CHECK ("entry"."state" in ('blocked', 'waiting', 'creating', 'background-import', 'idle', 'final-import', 'post-import',
        'worker-done', 'finished', 'error', 'canceled', 'conflict')),
	CONSTRAINT "entry_stage" CHECK ("entry"."stage" in ('background', 'final', 'complete'))
);
--> statement-breakpoint
CREATE TABLE "entry_disk" (
	"entry_id" uuid NOT NULL,
	"disk" text NOT NULL,
	"target_disk" text NOT NULL,
	"capacity" bigint NOT NULL,
	"change_id" text,
	"cycle" jsonb,
	CONSTRAINT "entry_disk_entry_id_disk_pk" PRIMARY KEY("entry_id","disk")
);
--> statement-breakpoint
CREATE TABLE "entry_extent" (
	"entry_id" uuid NOT NULL,
	"disk" text NOT NULL,
	"at" integer NOT NULL,
	"digest" "bytea" NOT NULL,
	"cycle" integer NOT NULL,
	CONSTRAINT "entry_extent_entry_id_disk_at_pk" PRIMARY KEY("entry_id","disk","at")
);
--> statement-breakpoint
CREATE TABLE "entry_history" (
	"id" uuid PRIMARY KEY NOT NULL,
	"source_id" uuid NOT NULL,
	"target_id" uuid NOT NULL,
	"phase" text NOT NULL,
	"bytes" bigint NOT NULL,
	"took_ms" bigint NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "signing_key" (
	"id" text PRIMARY KEY NOT NULL,
	"public_key" "bytea" NOT NULL,
	"private_key" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "machine" (
	"id" uuid PRIMARY KEY NOT NULL,
	"target_id" uuid NOT NULL,
	"ref" text NOT NULL,
	"name" text NOT NULL,
	"uuid" text NOT NULL,
	"project" text NOT NULL,
	"host" text NOT NULL,
	"power" text NOT NULL,
	"saved_state" text,
	"cpus" integer NOT NULL,
	"memory" bigint NOT NULL,
	"run_policy" text DEFAULT 'manual' NOT NULL,
	"origin" text NOT NULL,
	"entry_id" uuid,
	"instance_id" uuid,
	"version" integer DEFAULT 1 NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gone_at" timestamp (3) with time zone,
	CONSTRAINT "machine_power" CHECK ("machine"."power" in ('on', 'off', 'suspended', 'unknown')),
	CONSTRAINT "machine_policy" CHECK ("machine"."run_policy" in ('manual', 'always-on', 'always-on-unless-stopped', 'always-off')),
	CONSTRAINT "machine_origin" CHECK ("machine"."origin" in ('migrated', 'adopted'))
);
--> statement-breakpoint
CREATE TABLE "operation" (
	"id" uuid PRIMARY KEY NOT NULL,
	"machine_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"force" boolean DEFAULT false NOT NULL,
	"params" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"state" text NOT NULL,
	"reason" text NOT NULL,
	"message" text NOT NULL,
	"error" jsonb,
	"on_conflict" text NOT NULL,
	"cause" text DEFAULT 'person' NOT NULL,
	"stands_down" boolean DEFAULT false NOT NULL,
	"resumes" uuid,
	"deadline_seconds" integer NOT NULL,
	"deadline_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"progress" integer DEFAULT 0 NOT NULL,
	"past_return" boolean DEFAULT false NOT NULL,
	"superseded_by" uuid,
	"job_id" uuid,
	"result" jsonb,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone,
	"settled_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "operation_state" CHECK ("operation"."state" in ('queued', 'pending', 'running', 'completed', 'failed', 'canceled', 'superseded')),
	CONSTRAINT "operation_cause" CHECK ("operation"."cause" in ('person', 'evacuation', 'policy')),
	CONSTRAINT "operation_progress" CHECK ("operation"."progress" between 0 and 100)
);
--> statement-breakpoint
CREATE TABLE "self_test"."marker" (
	"name" text PRIMARY KEY NOT NULL,
	"job_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "self_test"."call" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "self_test"."call_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" uuid NOT NULL,
	"name" text NOT NULL,
	"action" text NOT NULL,
	"epoch" bigint NOT NULL,
	"pid" integer NOT NULL,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "access_token_hash" ON "access_token" USING btree ("hash");--> statement-breakpoint
CREATE UNIQUE INDEX "access_token_name" ON "access_token" USING btree ("name") WHERE "access_token"."revoked_at" is null;--> statement-breakpoint
CREATE INDEX "api_request_created" ON "api_request" USING btree ("created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_name" ON "webhook" USING btree ("name");--> statement-breakpoint
CREATE INDEX "finding_rule" ON "finding" USING btree ("rule","instance_id");--> statement-breakpoint
CREATE INDEX "finding_waived" ON "finding" USING btree ("instance_id") WHERE "finding"."waived";--> statement-breakpoint
CREATE INDEX "instance_identity_instance" ON "instance_identity" USING btree ("instance_id");--> statement-breakpoint
CREATE UNIQUE INDEX "waiver_place" ON "waiver" USING btree ("rule",coalesce("instance_id", '00000000-0000-0000-0000-000000000000'::uuid));--> statement-breakpoint
CREATE INDEX "waiver_instance" ON "waiver" USING btree ("instance_id");--> statement-breakpoint
CREATE INDEX "waiver_until" ON "waiver" USING btree ("until") WHERE "waiver"."until" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "effect_name" ON "effect" USING btree ("job_id","kind","name");--> statement-breakpoint
CREATE INDEX "effect_subject" ON "effect" USING btree ("subject_type","subject_id");--> statement-breakpoint
CREATE INDEX "effect_not_done" ON "effect" USING btree ("state","id") WHERE "effect"."state" <> 'done';--> statement-breakpoint
CREATE INDEX "effect_debt" ON "effect" USING btree ("next_try_at") WHERE "effect"."state" = 'debt';--> statement-breakpoint
CREATE INDEX "event_job" ON "event" USING btree ("job_id","id") WHERE "event"."job_id" is not null;--> statement-breakpoint
CREATE INDEX "event_subject" ON "event" USING btree ("subject_type","subject_id","id") WHERE "event"."job_id" is null;--> statement-breakpoint
CREATE INDEX "token_hold_job" ON "token_hold" USING btree ("job_id");--> statement-breakpoint
CREATE INDEX "worker_heartbeat" ON "worker" USING btree ("heartbeat_at") WHERE "worker"."stopped_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "host_ref" ON "host" USING btree ("site_id","ref") WHERE "host"."gone_at" is null;--> statement-breakpoint
CREATE INDEX "host_name" ON "host" USING btree ("site_id","name","id");--> statement-breakpoint
CREATE UNIQUE INDEX "instance_ref" ON "instance" USING btree ("site_id","ref") WHERE "instance"."gone_at" is null;--> statement-breakpoint
CREATE INDEX "instance_uuid" ON "instance" USING btree ("uuid");--> statement-breakpoint
CREATE INDEX "instance_place" ON "instance" USING btree ("site_id","location","id");--> statement-breakpoint
CREATE INDEX "instance_changed" ON "instance" USING btree ("site_id","revision");--> statement-breakpoint
CREATE INDEX "instance_site_ref" ON "instance" USING btree ("site_id","ref");--> statement-breakpoint
CREATE INDEX "instance_rules" ON "instance" USING btree ("rules_version") WHERE "instance"."gone_at" is null;--> statement-breakpoint
CREATE INDEX "instance_attention" ON "instance" USING btree ("site_id") WHERE "instance"."ignored" is not null or "instance"."problem" is not null or "instance"."notes" <> '[]'::jsonb;--> statement-breakpoint
CREATE UNIQUE INDEX "network_ref" ON "network" USING btree ("site_id","ref") WHERE "network"."gone_at" is null;--> statement-breakpoint
CREATE INDEX "network_place" ON "network" USING btree ("site_id","location","id");--> statement-breakpoint
CREATE UNIQUE INDEX "project_ref" ON "project" USING btree ("site_id","ref") WHERE "project"."gone_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "site_name" ON "site" USING btree ("role","name");--> statement-breakpoint
CREATE INDEX "site_next_sync" ON "site" USING btree ("next_sync_at");--> statement-breakpoint
CREATE INDEX "site_next_check" ON "site" USING btree ("next_check_at");--> statement-breakpoint
CREATE UNIQUE INDEX "storage_ref" ON "storage" USING btree ("site_id","ref") WHERE "storage"."gone_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "warning_place" ON "warning" USING btree ("type","entity_type","entity_id");--> statement-breakpoint
CREATE INDEX "warning_latest" ON "warning" USING btree ("last_seen_at");--> statement-breakpoint
CREATE UNIQUE INDEX "job_idempotency_key" ON "job" USING btree ("idempotency_key") WHERE "job"."idempotency_key" is not null;--> statement-breakpoint
CREATE INDEX "job_due" ON "job" USING btree ("kind","lane","priority" DESC NULLS LAST,"id") WHERE "job"."state" = 'ready' and "job"."bell" = 'due';--> statement-breakpoint
CREATE INDEX "job_held" ON "job" USING btree ("run_after") WHERE "job"."state" = 'ready' and "job"."bell" = 'held';--> statement-breakpoint
CREATE INDEX "job_rung" ON "job" USING btree ("kind","lane") WHERE "job"."state" = 'ready' and "job"."bell" = 'rung';--> statement-breakpoint
CREATE INDEX "job_leased" ON "job" USING btree ("lease_until") WHERE "job"."lease_until" is not null;--> statement-breakpoint
CREATE INDEX "job_waiting" ON "job" USING btree ("wait_until") WHERE "job"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "job_wait_signal" ON "job" USING btree ("wait_signal") WHERE "job"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "job_cancel" ON "job" USING btree ("worker_id") WHERE "job"."cancel_requested_at" is not null and "job"."finished_at" is null;--> statement-breakpoint
CREATE INDEX "job_deadline" ON "job" USING btree ("deadline") WHERE "job"."deadline" is not null and "job"."finished_at" is null;--> statement-breakpoint
CREATE INDEX "job_finished" ON "job" USING btree ("finished_at") WHERE "job"."finished_at" is not null;--> statement-breakpoint
CREATE INDEX "job_failed" ON "job" USING btree ("id") WHERE "job"."state" = 'failed';--> statement-breakpoint
CREATE INDEX "job_canceled" ON "job" USING btree ("id") WHERE "job"."state" = 'canceled';--> statement-breakpoint
CREATE INDEX "job_search_lane" ON "job_search" USING btree ("lane","job_id");--> statement-breakpoint
CREATE INDEX "job_search_subject" ON "job_search" USING btree ("subject_type","subject_id","job_id");--> statement-breakpoint
CREATE UNIQUE INDEX "batch_name" ON "batch" USING btree ("name");--> statement-breakpoint
CREATE INDEX "batch_instance_instance" ON "batch_instance" USING btree ("instance_id");--> statement-breakpoint
CREATE INDEX "batch_plan_batch" ON "batch_plan" USING btree ("batch_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "batch_window_name" ON "batch_window" USING btree ("batch_id","name");--> statement-breakpoint
CREATE INDEX "certificate_instance" ON "certificate" USING btree ("instance_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "entry_instance" ON "entry" USING btree ("instance_id");--> statement-breakpoint
CREATE INDEX "entry_batch" ON "entry" USING btree ("batch_id","state","id");--> statement-breakpoint
CREATE INDEX "entry_look" ON "entry" USING btree ("look_at") WHERE "entry"."state" not in ('finished', 'error', 'canceled') or "entry"."intent" is not null
          or ("entry"."state" <> 'finished' and ("entry"."job_id" is not null or "entry"."source_stopped_at" is not null));--> statement-breakpoint
CREATE INDEX "entry_job" ON "entry" USING btree ("job_id") WHERE "entry"."job_id" is not null;--> statement-breakpoint
CREATE INDEX "entry_window" ON "entry" USING btree ("window_id") WHERE "entry"."window_id" is not null;--> statement-breakpoint
CREATE INDEX "entry_history_pair" ON "entry_history" USING btree ("source_id","target_id","phase","at");--> statement-breakpoint
CREATE UNIQUE INDEX "machine_ref" ON "machine" USING btree ("target_id","ref") WHERE "machine"."gone_at" is null;--> statement-breakpoint
CREATE INDEX "machine_name" ON "machine" USING btree ("name","id");--> statement-breakpoint
CREATE INDEX "machine_host" ON "machine" USING btree ("target_id","host");--> statement-breakpoint
CREATE INDEX "machine_entry" ON "machine" USING btree ("entry_id") WHERE "machine"."entry_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "operation_active" ON "operation" USING btree ("machine_id") WHERE "operation"."state" in ('pending', 'running');--> statement-breakpoint
CREATE INDEX "operation_machine" ON "operation" USING btree ("machine_id","created_at");--> statement-breakpoint
CREATE INDEX "operation_open" ON "operation" USING btree ("machine_id","id") WHERE "operation"."settled_at" is null;--> statement-breakpoint
CREATE INDEX "operation_job" ON "operation" USING btree ("job_id") WHERE "operation"."job_id" is not null;--> statement-breakpoint
CREATE INDEX "operation_finished" ON "operation" USING btree ("finished_at") WHERE "operation"."finished_at" is not null;--> statement-breakpoint
CREATE INDEX "operation_superseded" ON "operation" USING btree ("superseded_by") WHERE "operation"."superseded_by" is not null;