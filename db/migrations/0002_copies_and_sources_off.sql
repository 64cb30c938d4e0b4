ALTER TABLE "machine" DROP CONSTRAINT "machine_origin";--> statement-breakpoint
ALTER TABLE "machine" ADD COLUMN "macs" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
CREATE INDEX "certificate_uuid" ON "certificate" USING btree (("document" -> 'instance' ->> 'uuid'));--> statement-breakpoint
CREATE INDEX "certificate_machine" ON "certificate" USING btree (("document" -> 'target' ->> 'machine'));--> statement-breakpoint
CREATE INDEX "entry_down" ON "entry" USING btree ("source_stopped_at") WHERE "entry"."source_stopped_at" is not null and "entry"."state" <> 'finished';--> statement-breakpoint
CREATE INDEX "machine_uuid" ON "machine" USING btree ("uuid") WHERE "machine"."uuid" <> '' and "machine"."gone_at" is null;--> statement-breakpoint
CREATE INDEX "machine_instance" ON "machine" USING btree ("instance_id") WHERE "machine"."instance_id" is not null;--> statement-breakpoint
ALTER TABLE "machine" ADD CONSTRAINT "machine_origin" CHECK ("machine"."origin" in ('migrated', 'copy', 'adopted'));