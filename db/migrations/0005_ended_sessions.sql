CREATE TABLE "ended_session" (
	"id" "bytea" PRIMARY KEY NOT NULL,
	"token_id" uuid NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "ended_session_expires" ON "ended_session" USING btree ("expires_at");