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
CREATE UNIQUE INDEX "effect_name" ON "effect" USING btree ("job_id","kind","name");--> statement-breakpoint
CREATE INDEX "effect_subject" ON "effect" USING btree ("subject_type","subject_id");--> statement-breakpoint
CREATE INDEX "effect_debt" ON "effect" USING btree ("next_try_at") WHERE "effect"."state" = 'debt';--> statement-breakpoint
CREATE INDEX "event_job" ON "event" USING btree ("job_id","id") WHERE "event"."job_id" is not null;--> statement-breakpoint
CREATE INDEX "event_subject" ON "event" USING btree ("subject_type","subject_id","id") WHERE "event"."job_id" is null;--> statement-breakpoint
CREATE INDEX "token_hold_job" ON "token_hold" USING btree ("job_id");--> statement-breakpoint
CREATE INDEX "worker_heartbeat" ON "worker" USING btree ("heartbeat_at") WHERE "worker"."stopped_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "job_idempotency_key" ON "job" USING btree ("idempotency_key") WHERE "job"."idempotency_key" is not null;--> statement-breakpoint
CREATE INDEX "job_due" ON "job" USING btree ("kind","lane","priority" DESC NULLS LAST,"id") WHERE "job"."state" = 'ready' and "job"."bell" = 'due';--> statement-breakpoint
CREATE INDEX "job_held" ON "job" USING btree ("run_after") WHERE "job"."state" = 'ready' and "job"."bell" = 'held';--> statement-breakpoint
CREATE INDEX "job_rung" ON "job" USING btree ("kind","lane") WHERE "job"."state" = 'ready' and "job"."bell" = 'rung';--> statement-breakpoint
CREATE INDEX "job_leased" ON "job" USING btree ("lease_until") WHERE "job"."lease_until" is not null;--> statement-breakpoint
CREATE INDEX "job_waiting" ON "job" USING btree ("wait_until") WHERE "job"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "job_wait_signal" ON "job" USING btree ("wait_signal") WHERE "job"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "job_cancel" ON "job" USING btree ("worker_id") WHERE "job"."cancel_requested_at" is not null and "job"."finished_at" is null;--> statement-breakpoint
CREATE INDEX "job_deadline" ON "job" USING btree ("deadline") WHERE "job"."deadline" is not null and "job"."finished_at" is null;--> statement-breakpoint
CREATE INDEX "job_subject" ON "job" USING btree ("subject_type","subject_id");--> statement-breakpoint
CREATE INDEX "job_lane" ON "job" USING btree ("lane");--> statement-breakpoint
CREATE INDEX "job_finished" ON "job" USING btree ("finished_at") WHERE "job"."finished_at" is not null;--> statement-breakpoint
CREATE INDEX "job_failed" ON "job" USING btree ("id") WHERE "job"."state" = 'failed';