/**
 * The lab's own tables, in its own schema: a data centre knows nothing of whoever migrates it. Forward only: a
 * change is a new entry at the end, and an entry that was released is never edited.
 */
export const migrations: readonly string[] = [
  `
  create table lab.world (
    only_row boolean primary key default true check (only_row),
    name text not null,
    seed bigint not null,
    -- How long tasks and boots take: 1 as written, 0 at once.
    pace double precision not null,
    -- Added to the wall clock: a test lets time pass without waiting.
    offset_ms bigint not null default 0,
    -- Key and certificate in use, as PEM; null until TLS is first asked for.
    tls jsonb
  );
  create table lab.site (
    name text primary key,
    kind text not null check (kind in ('source', 'target')),
    product text not null,
    version text not null,
    instance_id text not null,
    username text not null,
    password_salt text not null,
    password_hash text not null,
    -- One up with every change of anything in the site; whoever writes holds this row.
    seq bigint not null default 0,
    -- A cursor of another generation is lost.
    generation integer not null default 1,
    next_ref bigint not null default 1,
    skew_ms bigint not null default 0
  );
  create table lab.session (
    token_hash text primary key,
    site text not null references lab.site on delete cascade,
    caller text not null,
    created_at timestamptz not null default now()
  );
  create index on lab.session (site, created_at);
  create table lab.entity (
    site text not null references lab.site on delete cascade,
    type text not null,
    ref text not null,
    name text not null,
    data json not null,
    -- Hosts: dead, full. Storage: full.
    trouble jsonb not null default '{}',
    seq bigint not null default 0,
    gone boolean not null default false,
    primary key (site, type, ref)
  );
  create table lab.machine (
    site text not null references lab.site on delete cascade,
    ref text not null,
    name text not null,
    uuid text not null,
    lineage text not null,
    folder text not null,
    location text not null,
    datacenter text not null,
    project text not null default '',
    host text not null default '',
    cluster text not null default '',
    cpus integer not null default 1,
    memory bigint not null default 0,
    template boolean not null default false,
    complete boolean not null default true,
    -- json, not jsonb: it keeps what jsonb refuses, such as a NUL in a name.
    facts json not null,
    traits jsonb not null default '{}',
    -- What the guest of the last start was, read from its disk; null: nothing that boots.
    guest jsonb,
    owner jsonb not null default '{}',
    power text not null default 'off' check (power in ('on', 'off', 'suspended')),
    run_id text not null default '',
    boot_id text not null default '',
    counter_base bigint not null default 0,
    counter_at timestamptz,
    ready_at timestamptz,
    load_at timestamptz,
    snapshot text,
    seq bigint not null default 0,
    gone boolean not null default false,
    primary key (site, ref)
  );
  create index on lab.machine (site, seq);
  create index on lab.machine (site, folder, name) where not gone;
  create index on lab.machine (site, host) where power = 'on' and not gone;
  create index on lab.machine using gin (owner jsonb_path_ops);
  create table lab.layer (
    id bigint generated always as identity primary key,
    parent bigint references lab.layer,
    -- From the root to itself.
    path bigint[] not null
  );
  create index on lab.layer (parent);
  create table lab.block (
    layer bigint not null references lab.layer on delete cascade,
    block bigint not null,
    epoch bigint not null,
    -- Null: zeros.
    bytes bytea,
    primary key (layer, block)
  );
  alter table lab.block alter column bytes set storage external;
  create table lab.disk (
    id bigint generated always as identity primary key,
    site text not null,
    machine text not null,
    key text not null,
    position integer not null,
    capacity bigint not null,
    storage text not null,
    thin boolean not null,
    seed bigint not null,
    profile jsonb not null,
    layer bigint not null references lab.layer,
    allocated bigint not null,
    -- One up with every write.
    epoch bigint not null default 0,
    tracking text,
    unique (site, machine, key),
    foreign key (site, machine) references lab.machine on delete cascade
  );
  create index on lab.disk (layer);
  create index on lab.disk (site, storage);
  create table lab.snapshot (
    site text not null,
    ref text not null,
    machine text not null,
    name text not null,
    parent text,
    created_at timestamptz not null,
    memory boolean not null,
    counter bigint,
    boot_id text not null default '',
    primary key (site, ref),
    foreign key (site, machine) references lab.machine on delete cascade
  );
  create index on lab.snapshot (site, machine);
  create table lab.snapshot_disk (
    site text not null,
    snapshot text not null,
    key text not null,
    layer bigint not null references lab.layer,
    epoch bigint not null,
    tracking text,
    primary key (site, snapshot, key),
    foreign key (site, snapshot) references lab.snapshot on delete cascade
  );
  create index on lab.snapshot_disk (layer);
  create table lab.saved (
    site text not null references lab.site on delete cascade,
    ref text not null,
    machine text not null,
    boot_id text not null,
    counter bigint not null,
    guest jsonb,
    epochs jsonb not null,
    digest text not null,
    content bytea not null,
    created_at timestamptz not null,
    primary key (site, ref)
  );
  create table lab.upload (
    disk bigint primary key references lab.disk on delete cascade,
    size bigint not null,
    received bigint not null default 0
  );
  create table lab.task (
    id uuid primary key,
    n bigint generated always as identity,
    site text not null references lab.site on delete cascade,
    name text,
    caller text not null,
    kind text not null,
    machine text not null,
    args jsonb not null,
    -- What the lab does by itself, such as a guest that goes down: never listed.
    inner_work boolean not null default false,
    state text not null default 'running' check (state in ('running', 'succeeded', 'failed')),
    created_at timestamptz not null,
    due_at timestamptz not null,
    result text,
    error jsonb
  );
  create unique index on lab.task (site, name);
  create index on lab.task (due_at, n) where state = 'running';
  create index on lab.task (site, machine, n);
  create table lab.power_log (
    n bigint generated always as identity primary key,
    at timestamptz not null,
    site text not null,
    machine text not null,
    uuid text not null,
    lineage text not null,
    running boolean not null,
    connected boolean not null,
    host text not null,
    run_id text not null,
    why text not null
  );
  create index on lab.power_log (uuid, site, machine, n);
  create index on lab.power_log (lineage, site, machine, n);
  create table lab.fault (
    id bigint generated always as identity primary key,
    rule jsonb not null,
    -- How many calls matched, and how many of them it struck.
    seen bigint not null default 0,
    struck bigint not null default 0
  );
  create table lab.call (
    n bigint generated always as identity primary key,
    at timestamptz not null,
    wall_at timestamptz not null,
    took_ms double precision not null,
    caller text not null,
    site text not null,
    call text not null,
    machine text not null,
    name text,
    fault text,
    status integer,
    outcome text not null
  );
  create index on lab.call (site, call, n);
  create index on lab.call (machine, n);
  `,
  // Null: from before this was kept.
  'alter table lab.snapshot_disk add column allocated bigint',
]
