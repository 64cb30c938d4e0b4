CREATE TABLE "schema_support" (
	"single" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"migrations_min" integer NOT NULL,
	CONSTRAINT "schema_support_only" CHECK ("schema_support"."single")
);
--> statement-breakpoint
CREATE TABLE "sealing_key" (
	"id" text PRIMARY KEY NOT NULL,
	"check_value" "bytea" NOT NULL,
	"entered_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "ledger_fact" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY "ledger_fact_read" ON "ledger_fact" AS PERMISSIVE FOR SELECT TO public USING (true);--> statement-breakpoint
CREATE POLICY "ledger_fact_add" ON "ledger_fact" AS PERMISSIVE FOR INSERT TO public WITH CHECK (name in ('bell-identity', 'secret-keys', 'installation-id'));--> statement-breakpoint
CREATE POLICY "ledger_fact_change" ON "ledger_fact" AS PERMISSIVE FOR UPDATE TO public USING (name in ('bell-identity', 'secret-keys')) WITH CHECK (name = 'bell-identity');--> statement-breakpoint
-- The keys in use, out of the fact that roles could write. The fact stays, and no role can change it any more: processes
-- of the version before compare their key with it, and without it with every seal, of which a lost key may have left some.
-- A later migration deletes it, where "sealing_key" has a row. A list that somebody emptied or spoilt carries nothing over;
-- that it is there says that the database was told of a key.
DO $$
BEGIN
  INSERT INTO public.sealing_key (id, check_value, entered_at)
  SELECT k.value ->> 'id', decode(k.value ->> 'check', 'base64'), now() - k.place * interval '1 millisecond'
  FROM public.ledger_fact f, jsonb_array_elements(f.value::jsonb) WITH ORDINALITY AS k (value, place)
  WHERE f.name = 'secret-keys' ON CONFLICT DO NOTHING;
EXCEPTION WHEN data_exception OR not_null_violation THEN
  NULL;
END
$$;
--> statement-breakpoint
-- Builds of before the fifth migration open no seal of today.
INSERT INTO "schema_support" ("migrations_min") VALUES (5);
