CREATE TABLE "event_floor" (
	"single" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"kept_days_min" integer NOT NULL,
	CONSTRAINT "event_floor_only" CHECK ("event_floor"."single" and "event_floor"."kept_days_min" >= 1)
);
--> statement-breakpoint
CREATE TABLE "event_prune" (
	"from_seq" bigint PRIMARY KEY NOT NULL,
	"to_seq" bigint NOT NULL,
	"kind" text NOT NULL,
	"kept_days" integer NOT NULL,
	"through_hash" "bytea" NOT NULL,
	"pruned_by" text NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"mac" "bytea" NOT NULL,
	CONSTRAINT "event_prune_range" CHECK ("event_prune"."from_seq" >= 1 and "event_prune"."to_seq" >= "event_prune"."from_seq"),
	CONSTRAINT "event_prune_kind" CHECK ("event_prune"."kind" in ('pruned', 'accepted'))
);
--> statement-breakpoint
ALTER TABLE "event_seal" ADD COLUMN "version" smallint DEFAULT 1 NOT NULL;--> statement-breakpoint
-- The only way to remove events for whoever may not DELETE them. It knows no key: whether the statement is signed is
-- for `:verify` to say. What it refuses by itself is a range that is young, not sealed, or out of turn. Called again with
-- the newest statement it goes on with what is left of that one's last range.
CREATE FUNCTION public.drover_prune_events(
  p_from_seq bigint, p_to_seq bigint, p_kind text, p_kept_days integer, p_through_hash bytea, p_pruned_by text,
  p_at timestamp with time zone, p_mac bytea, p_limit integer
) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
AS $$
DECLARE
  floor_days integer;
  newest public.event_prune%ROWTYPE;
  oldest_kept timestamptz;
  deleted integer;
BEGIN
  IF p_limit IS NULL OR p_limit NOT BETWEEN 1 AND 10000 THEN
    RAISE EXCEPTION 'drover_prune_events removes 1 to 10000 events a call';
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
$$;
--> statement-breakpoint
REVOKE ALL ON FUNCTION public.drover_prune_events(
  bigint, bigint, text, integer, bytea, text, timestamp with time zone, bytea, integer) FROM PUBLIC;
