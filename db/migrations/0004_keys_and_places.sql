CREATE TABLE "former_key" (
	"id" text PRIMARY KEY NOT NULL,
	"sealed" "bytea" NOT NULL,
	"replaced_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "signing_key" ALTER COLUMN "private_key" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "webhook" ADD COLUMN "sealed_url" "bytea";--> statement-breakpoint
ALTER TABLE "signing_key" ADD COLUMN "retired_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "signing_key" ADD COLUMN "follows" text;--> statement-breakpoint
ALTER TABLE "signing_key" ADD COLUMN "vouched" "bytea";