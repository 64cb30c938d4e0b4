import type { Change } from '../model/context.ts'
import { toDate } from '../model/context.ts'

export interface BulkForm {
  readonly machines: number
  readonly hosts: number
  readonly networks: number
  readonly seed: number
  readonly storage: string
  readonly storageName: string
}

/** In SQL, what the worlds' own `uuidOf` is in code. */
const uuidSql = (change: Change, seed: number) => change.tx`
  (select substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3) || '-a' || substr(h, 18, 3)
    || '-' || substr(h, 21) from md5(${`${seed}/${change.site}/`} || 'vm-' || i) h)`

const ipSql = ({ tx }: Change) => tx`'10.' || 10 + i / 62500 || '.' || i / 250 % 250 || '.' || 1 + i % 250`

const osNames = `{debian-12,ubuntu-22.04,rhel-9,windows-2022,windows-2019,suse-15,centos-7,freebsd-14}`
const osTexts = `{"Debian GNU/Linux 12 (bookworm)","Ubuntu 22.04.4 LTS","Red Hat Enterprise Linux 9.3 (Plow)",
  "Microsoft Windows Server 2022 (64-bit)","Microsoft Windows Server 2019 (64-bit)",
  "SUSE Linux Enterprise Server 15 SP5","CentOS Linux 7 (Core)","FreeBSD 14.0-RELEASE"}`

/**
 * Fills a site with machines by a few statements, so that ten thousand take seconds: everything about one follows
 * from its number. Each third has two disks, each tenth is off, each fiftieth is not tracked.
 */
export const addBulkMachines = async (change: Change, form: BulkForm): Promise<void> => {
  await addMachines(change, form)
  await addDisks(change, form)
  await change.tx`
    insert into lab.power_log (at, site, machine, uuid, lineage, running, connected, host, run_id, why)
    select ${toDate(change.at)}, site, ref, uuid, lineage, true, true, host, run_id, ${change.why}
    from lab.machine where site = ${change.site} and power = 'on'`
}

const addMachines = async (change: Change, form: BulkForm): Promise<void> => {
  const { tx, site } = change
  const at = toDate(change.at)
  await tx`
    insert into lab.machine (site, ref, name, uuid, lineage, folder, location, datacenter, host, cluster, cpus,
      memory, facts, guest, power, run_id, boot_id, counter_at, ready_at, load_at)
    select ${site}, v.ref, v.name, v.uuid, v.uuid, v.folder, v.folder || '/' || v.name, v.datacenter, v.host, v.cluster,
      v.cpus, v.memory, f.facts, case when v.running then g.guest end, case when v.running then 'on' else 'off' end,
      case when v.running then 'run-' || v.i else '' end, case when v.running then 'boot-' || v.i else '' end,
      case when v.running then ${at}::timestamptz end, case when v.running then ${at}::timestamptz end,
      case when v.running then ${at}::timestamptz end
    from (
      select i, 'vm-' || i as ref, (${`{app,web,db,cache,job}`}::text[])[1 + i % 5] || '-' || lpad(i::text, 5, '0') as name,
        ${uuidSql(change, form.seed)} as uuid, 'DC' || i % 4 as datacenter, '/DC' || i % 4 || '/vm/team-' || i % 60 as folder,
        'host-' || (1 + i % ${form.hosts}::int) as host, 'cluster-' || i % 4 as cluster,
        (${`{1,2,4,8}`}::int[])[1 + i % 4] as cpus, (${`{2,4,8,16}`}::bigint[])[1 + i % 4] * 1073741824 as memory,
        i % 10 <> 0 as running, 1 + i % ${form.networks}::int as network, i % 50 <> 0 as tracked,
        (${osNames}::text[])[1 + i % 8] as os, (${osTexts}::text[])[1 + i % 8] as os_text,
        ${ipSql(change)} as ip,
        '00:50:56:' || lpad(to_hex(i / 65536), 2, '0') || ':' || lpad(to_hex(i / 256 % 256), 2, '0') || ':'
          || lpad(to_hex(i % 256), 2, '0') as mac,
        case when i % 3 = 0 then 2 else 1 end as disks
      from generate_series(1, ${form.machines}::int) i
    ) v,
    lateral (select ${guestSql(change)} as guest) g,
    lateral (select ${factsSql(change, form)} as facts) f`
}

const guestSql = ({ tx }: Change) => tx`
  jsonb_build_object('hostname', v.name, 'os', v.os, 'agent', 'running',
    'addresses', jsonb_build_array(jsonb_build_array(v.ip)), 'ports', jsonb_build_array(22),
    'boot_ms', 2000, 'shutdown_ms', 1500, 'shutdown', 'obeys', 'writes', null)`

const factsSql = (change: Change, form: BulkForm) => change.tx`
  (json_build_object(
    'ref', v.ref, 'uuid', v.uuid, 'bios_uuid', v.uuid, 'name', v.name, 'location', v.folder || '/' || v.name,
    'description', '', 'template', false, 'appliance', false,
    'power_state', case when v.running then 'on' else 'off' end, 'running', v.running,
    'os', v.os, 'os_description', v.os_text, 'os_template', v.os, 'architecture', 'x86_64',
    'cpus', v.cpus, 'memory', v.memory, 'cpu_hot_plug', false, 'memory_hot_plug', false,
    'legacy_boot', v.i % 7 = 0, 'secure_boot', false, 'tpm', false, 'encrypted', false,
    'hardware_version', 'vmx-19', 'cluster', v.cluster, 'host', v.host || '.lab',
    'resource_pool', '/' || v.datacenter || '/host/' || v.cluster || '/Resources',
    'folder', v.folder, 'datacenter', v.datacenter, 'background_import', v.tracked, 'needs_consolidation', false,
    'fault_tolerant', false)::jsonb || jsonb_build_object(
    'nics', jsonb_build_array(jsonb_build_object('key', 4000::text, 'label', 'Network adapter 1', 'mac', v.mac,
      'connected', true, 'network_ref', 'network-' || v.network, 'network', 'net-' || v.network, 'type', 'vmxnet3',
      'ipv4_addresses', case when v.running then jsonb_build_array(v.ip) else '[]' end, 'ipv6_addresses', '[]'::jsonb)),
    'disks', (select jsonb_agg(jsonb_build_object('key', (2000 + d)::text, 'label', 'Hard disk ' || d + 1,
      'name', '[' || ${form.storageName}::text || '] ' || v.name || '/' || v.name || case d when 0 then '' else '_1' end || '.vmdk',
      'capacity', (1 + d * 4) * 42949672960, 'used', 9437184, 'backing', 'file', 'mode', 'dependent', 'shared', false,
      'encrypted', false, 'thin', true, 'datastore', ${form.storageName}::text, 'change_id', case when v.tracked then ${trackingSql(change, change.tx`v.ref`, change.tx`(2000 + d)::text`)} || '/0' end))
      from generate_series(0, v.disks - 1) d),
    'snapshots', '[]'::jsonb, 'devices', '[]'::jsonb,
    'guest', jsonb_build_object('agent', case when v.running then 'running' else 'not-running' end,
      'agent_version', '12.3.0', 'hostname', v.name),
    'tags', jsonb_build_object('env', jsonb_build_array(case v.i % 3 when 0 then 'test' else 'production' end)),
    'attributes', jsonb_build_object('team', 'team-' || v.i % 60)))::json`

type Fragment = ReturnType<Change['tx']>

/** Known to the listing and to the disk without asking one for the other. */
const trackingSql = ({ tx }: Change, ref: Fragment, key: Fragment) =>
  tx`md5(${ref} || '/' || ${key})::uuid::text`

const addDisks = async (change: Change, form: BulkForm): Promise<void> => {
  await change.tx`
    with wanted as materialized (
      select m.ref, m.facts, d, nextval(pg_get_serial_sequence('lab.layer', 'id')) as layer,
        substr(m.ref, 4)::int as i
      from lab.machine m, generate_series(0, json_array_length(m.facts -> 'disks') - 1) d
      where m.site = ${change.site}
    ), layers as (
      insert into lab.layer (id, path) overriding system value select layer, array[layer] from wanted returning id
    )
    insert into lab.disk (site, machine, key, position, capacity, storage, thin, seed, profile, layer, allocated, tracking)
    select ${change.site}, w.ref, (2000 + w.d)::text, w.d, (1 + w.d * 4) * 42949672960, ${form.storage}::text, true,
      (${form.seed}::bigint * 1000003 + w.i * 2 + w.d) % 2147483647,
      jsonb_build_object('data', '[[0, 8388608], [21474836480, 1048576]]'::jsonb, 'random', 30,
        'boot', case when w.d = 0 then (select jsonb_build_object('hostname', m.name, 'os', w.facts ->> 'os', 'agent', 'running',
          'addresses', jsonb_build_array(jsonb_build_array(${ipSql(change)})),
          'ports', jsonb_build_array(22), 'boot_ms', 2000, 'shutdown_ms', 1500, 'shutdown', 'obeys', 'writes', null)
          from lab.machine m where m.site = ${change.site} and m.ref = w.ref) end),
      w.layer, 9437184, case when (w.facts ->> 'background_import')::boolean then ${trackingSql(change, change.tx`w.ref`, change.tx`(2000 + w.d)::text`)} end
    from wanted w join layers l on l.id = w.layer`
}
