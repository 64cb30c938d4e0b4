CREATE TABLE "image" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"source" jsonb NOT NULL,
	"expected_digest" text,
	"digest" text,
	"size_bytes" bigint,
	"verified" text,
	"require_manifest" boolean DEFAULT false NOT NULL,
	"state" text DEFAULT 'importing' NOT NULL,
	"facts" jsonb,
	"ovf" text,
	"error" jsonb,
	"job_id" uuid,
	"version" integer DEFAULT 1 NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "image_state" CHECK ("image"."state" in ('importing', 'ready', 'failed', 'deleted')),
	CONSTRAINT "image_deleted" CHECK (("image"."state" = 'deleted') = ("image"."deleted_at" is not null)),
	CONSTRAINT "image_ready" CHECK ("image"."state" <> 'ready' or ("image"."digest" is not null and "image"."facts" is not null)),
	CONSTRAINT "image_digests" CHECK (coalesce("image"."digest", '') ~ '^([0-9a-f]{64})?$' and coalesce("image"."expected_digest", '') ~ '^([0-9a-f]{64})?$'),
	CONSTRAINT "image_verified" CHECK ("image"."verified" in ('signature', 'manifest', 'none'))
);
--> statement-breakpoint
CREATE TABLE "image_replica" (
	"id" uuid PRIMARY KEY NOT NULL,
	"image_id" uuid NOT NULL,
	"target_id" uuid NOT NULL,
	"folder" text DEFAULT '' NOT NULL,
	"project" text DEFAULT '' NOT NULL,
	"pool" text DEFAULT '' NOT NULL,
	"host" text DEFAULT '' NOT NULL,
	"network" text DEFAULT '' NOT NULL,
	"ref" text,
	"state" text DEFAULT 'importing' NOT NULL,
	"template_id" uuid,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"gone_at" timestamp (3) with time zone,
	CONSTRAINT "image_replica_state" CHECK ("image_replica"."state" in ('importing', 'ready', 'removing', 'gone')),
	CONSTRAINT "image_replica_gone" CHECK (("image_replica"."state" = 'gone') = ("image_replica"."gone_at" is not null)),
	CONSTRAINT "image_replica_ready" CHECK ("image_replica"."state" <> 'ready' or "image_replica"."ref" is not null)
);
--> statement-breakpoint
CREATE TABLE "template" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"target_id" uuid NOT NULL,
	"folder" text DEFAULT '' NOT NULL,
	"production" text NOT NULL,
	"project" text DEFAULT '' NOT NULL,
	"pool" text DEFAULT '' NOT NULL,
	"host" text DEFAULT '' NOT NULL,
	"network" text DEFAULT '' NOT NULL,
	"image_id" uuid NOT NULL,
	"version_live" integer,
	"version_wanted" integer NOT NULL,
	"keep_versions" integer DEFAULT 2 NOT NULL,
	"grace_seconds" integer DEFAULT 600 NOT NULL,
	"allow_downgrade" boolean DEFAULT false NOT NULL,
	"state" text NOT NULL,
	"reason" text NOT NULL,
	"message" text NOT NULL,
	"error" jsonb,
	"job_id" uuid,
	"version" integer DEFAULT 1 NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "template_state" CHECK ("template"."state" in ('absent', 'swapping', 'live', 'conflict')),
	CONSTRAINT "template_production" CHECK (char_length("template"."production") between 1 and 80),
	CONSTRAINT "template_settings" CHECK ("template"."keep_versions" between 0 and 20 and "template"."grace_seconds" between 0 and 604800)
);
--> statement-breakpoint
CREATE TABLE "template_version" (
	"template_id" uuid NOT NULL,
	"number" integer NOT NULL,
	"image_id" uuid NOT NULL,
	"replica_id" uuid,
	"state" text DEFAULT 'wanted' NOT NULL,
	"cause" text NOT NULL,
	"by" text NOT NULL,
	"asked_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"live_at" timestamp (3) with time zone,
	"retired_at" timestamp (3) with time zone,
	"swap_ms" bigint,
	"gap_ms" bigint,
	"error" jsonb,
	CONSTRAINT "template_version_template_id_number_pk" PRIMARY KEY("template_id","number"),
	CONSTRAINT "template_version_state" CHECK ("template_version"."state" in ('wanted', 'live', 'kept', 'gone', 'withdrawn')),
	CONSTRAINT "template_version_cause" CHECK ("template_version"."cause" in ('create', 'update', 'rollback')),
	CONSTRAINT "template_version_number" CHECK ("template_version"."number" > 0)
);
--> statement-breakpoint
CREATE UNIQUE INDEX "image_name" ON "image" USING btree ("name") WHERE "image"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "image_digest" ON "image" USING btree ("digest") WHERE "image"."digest" is not null;--> statement-breakpoint
CREATE INDEX "image_replica_image" ON "image_replica" USING btree ("image_id");--> statement-breakpoint
CREATE INDEX "image_replica_template" ON "image_replica" USING btree ("template_id") WHERE "image_replica"."template_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "image_replica_shelf" ON "image_replica" USING btree ("image_id","target_id","folder") WHERE "image_replica"."template_id" is null and "image_replica"."state" = 'ready';--> statement-breakpoint
CREATE UNIQUE INDEX "image_replica_ref" ON "image_replica" USING btree ("target_id","ref") WHERE "image_replica"."ref" is not null and "image_replica"."state" <> 'gone';--> statement-breakpoint
CREATE UNIQUE INDEX "template_name" ON "template" USING btree ("name") WHERE "template"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "template_place" ON "template" USING btree ("target_id","folder","production") WHERE "template"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "template_image" ON "template" USING btree ("image_id") WHERE "template"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "template_job" ON "template" USING btree ("job_id") WHERE "template"."job_id" is not null;--> statement-breakpoint
CREATE INDEX "template_version_image" ON "template_version" USING btree ("image_id");--> statement-breakpoint
CREATE UNIQUE INDEX "template_version_live" ON "template_version" USING btree ("template_id") WHERE "template_version"."state" = 'live';--> statement-breakpoint
CREATE UNIQUE INDEX "template_version_wanted" ON "template_version" USING btree ("template_id") WHERE "template_version"."state" = 'wanted';