-- Not valid: no scan while the tables are locked. Rows of before that are out of bounds stay.
ALTER TABLE "event_prune" ADD CONSTRAINT "event_prune_seq" CHECK ("event_prune"."to_seq" <= 9007199254740991) NOT VALID;--> statement-breakpoint
ALTER TABLE "event_prune" ADD CONSTRAINT "event_prune_moment" CHECK ("event_prune"."at" >= '1970-01-01 00:00:00+00'::timestamptz and "event_prune"."at" < '9999-12-31 00:00:00+00'::timestamptz) NOT VALID;--> statement-breakpoint
ALTER TABLE "event_seal" ADD CONSTRAINT "event_seal_seq" CHECK ("event_seal"."seq" between 1 and 9007199254740991) NOT VALID;--> statement-breakpoint
ALTER TABLE "event_seal" ADD CONSTRAINT "event_seal_moment" CHECK ("event_seal"."sealed_at" >= '1970-01-01 00:00:00+00'::timestamptz and "event_seal"."sealed_at" < '9999-12-31 00:00:00+00'::timestamptz) NOT VALID;
--> statement-breakpoint
-- As in 0003, and it refuses a moment that no process can read.
CREATE OR REPLACE FUNCTION public.drover_prune_events(
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
  IF p_at IS NULL OR p_at NOT BETWEEN '1970-01-01 00:00:00+00' AND '9999-12-30 00:00:00+00' THEN
    RAISE EXCEPTION 'the moment of a statement is out of range: %', p_at;
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
