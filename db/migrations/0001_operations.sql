CREATE TABLE "operation_end" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "operation_end_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"force" boolean NOT NULL,
	"outcome" text NOT NULL,
	"reason" text NOT NULL,
	"waited_seconds" double precision DEFAULT 0 NOT NULL,
	"ran_seconds" double precision DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "operation_refusal" (
	"machine_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"force" boolean NOT NULL,
	"reason" text NOT NULL,
	"asked_by" text NOT NULL,
	"times" integer NOT NULL,
	"unsaid" integer DEFAULT 0 NOT NULL,
	"since" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "operation_refusal_machine_id_kind_force_reason_asked_by_pk" PRIMARY KEY("machine_id","kind","force","reason","asked_by")
);
--> statement-breakpoint
CREATE TABLE "operation_span" (
	"kind" text NOT NULL,
	"outcome" text NOT NULL,
	"span" text NOT NULL,
	"le" double precision NOT NULL,
	"times" bigint NOT NULL,
	"seconds" double precision NOT NULL,
	CONSTRAINT "operation_span_kind_outcome_span_le_pk" PRIMARY KEY("kind","outcome","span","le")
);
--> statement-breakpoint
CREATE TABLE "operation_tally" (
	"kind" text NOT NULL,
	"force" boolean NOT NULL,
	"outcome" text NOT NULL,
	"reason" text NOT NULL,
	"times" bigint NOT NULL,
	CONSTRAINT "operation_tally_kind_force_outcome_reason_pk" PRIMARY KEY("kind","force","outcome","reason")
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
	"stopped_at" timestamp (3) with time zone,
	"policy_failures" integer DEFAULT 0 NOT NULL,
	"policy_next_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
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
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "operation_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"machine_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"force" boolean DEFAULT false NOT NULL,
	"params" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"state" text NOT NULL,
	"reason" text NOT NULL,
	"message" text NOT NULL,
	"reason_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"error" jsonb,
	"on_conflict" text NOT NULL,
	"cause" text DEFAULT 'person' NOT NULL,
	"stands_down" boolean DEFAULT false NOT NULL,
	"resumes" uuid,
	"leaves" text,
	"failures" integer DEFAULT 0 NOT NULL,
	"come_back_at" timestamp (3) with time zone,
	"deadline_seconds" integer NOT NULL,
	"deadline_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"in_line_since" timestamp (3) with time zone,
	"let_in_at" timestamp (3) with time zone,
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
ALTER TABLE "effect" ADD COLUMN "done_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "operation_refusal_since" ON "operation_refusal" USING btree ("since");--> statement-breakpoint
CREATE UNIQUE INDEX "machine_ref" ON "machine" USING btree ("target_id","ref");--> statement-breakpoint
CREATE INDEX "machine_name" ON "machine" USING btree ("name","id");--> statement-breakpoint
CREATE INDEX "machine_host" ON "machine" USING btree ("target_id","host");--> statement-breakpoint
CREATE INDEX "machine_entry" ON "machine" USING btree ("entry_id") WHERE "machine"."entry_id" is not null;--> statement-breakpoint
CREATE INDEX "machine_gone" ON "machine" USING btree ("gone_at") WHERE "machine"."gone_at" is not null;--> statement-breakpoint
CREATE INDEX "machine_policy_due" ON "machine" USING btree ("policy_next_at","id") WHERE "machine"."gone_at" is null and "machine"."run_policy" <> 'manual'
        and (case "machine"."run_policy" when 'always-off' then "machine"."power" = 'on' else "machine"."power" = 'off' end);--> statement-breakpoint
CREATE UNIQUE INDEX "operation_active" ON "operation" USING btree ("machine_id") WHERE "operation"."state" in ('pending', 'running');--> statement-breakpoint
CREATE INDEX "operation_machine" ON "operation" USING btree ("machine_id","id");--> statement-breakpoint
CREATE INDEX "operation_open" ON "operation" USING btree ("machine_id","seq") WHERE "operation"."settled_at" is null;--> statement-breakpoint
CREATE INDEX "operation_job" ON "operation" USING btree ("job_id") WHERE "operation"."job_id" is not null;--> statement-breakpoint
CREATE INDEX "operation_finished" ON "operation" USING btree ("finished_at","id") WHERE "operation"."finished_at" is not null;--> statement-breakpoint
CREATE INDEX "operation_comes_back" ON "operation" USING btree ("come_back_at") WHERE "operation"."come_back_at" is not null;--> statement-breakpoint
CREATE INDEX "operation_rare" ON "operation" USING btree ("state","id") WHERE "operation"."state" in ('failed', 'canceled', 'superseded');--> statement-breakpoint
CREATE INDEX "operation_cause" ON "operation" USING btree ("cause","id") WHERE "operation"."cause" <> 'person';--> statement-breakpoint
CREATE INDEX "operation_kind" ON "operation" USING btree ("kind","id");--> statement-breakpoint
CREATE INDEX "operation_reason" ON "operation" USING btree ("reason","id") WHERE "operation"."settled_at" is not null;--> statement-breakpoint
CREATE INDEX "operation_superseded" ON "operation" USING btree ("superseded_by") WHERE "operation"."superseded_by" is not null;--> statement-breakpoint
CREATE INDEX "entry_machine" ON "entry" USING btree ("target_id","machine_ref") WHERE "entry"."machine_ref" is not null;