ALTER TABLE "entry" ADD COLUMN "source_off_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "entry" ADD COLUMN "guest_until" timestamp (3) with time zone;