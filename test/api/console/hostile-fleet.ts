import { v7 as uuidv7 } from 'uuid'
import { expect } from 'vitest'
import type { Db } from '../../../db/client.ts'
import { insertCertificate } from '../../../db/queries/copies/insert-certificate.ts'
import { insertSigningKey } from '../../../db/queries/seals/signing-keys.ts'
import { keyIdOf, signCertificate } from '../../../src/certificate/signing.ts'
import { sampleFile } from '../../support/certificates.ts'
import { poisonRows } from '../../support/hostile-rows.ts'
import { hostFacts, networkFacts, storageFacts } from '../../support/imagined-site.ts'
import { add } from '../../support/ledger.ts'
import { addMachine } from '../../support/machines.ts'
import { addFinding, addNetwork } from '../inventory/inventory-rows.ts'
import { addFleet, restEntries, startBatch } from '../migration/batch-rows.ts'
import type { Client } from '../setup.ts'
import { askTemplate, failSwap, finishSwap, importImage } from '../template/template-rows.ts'

const failed = { code: 'platform-fault', class: 'transient', message: 'It failed.', remedy: 'Look at it.' }
const failedText = JSON.stringify(failed)

const addThings = async (db: Db, siteId: string): Promise<void> => {
  for (const at of [1, 2]) {
    await addNetwork(db, siteId, { ...networkFacts, ref: `n-${at}`, name: 'shop' })
    for (const [table, facts] of [
      ['host', hostFacts],
      ['storage', storageFacts],
      ['project', { name: 'default', description: 'all', restricted: false }],
    ] as const)
      await db`insert into ${db(table)} (id, site_id, ref, name, hash, revision, facts)
        values (${uuidv7()}::uuid, ${siteId}::uuid, ${`r-${at}`}, 'thing', 'h', 1, ${JSON.stringify({ ...facts, ref: `r-${at}` })}::text::jsonb)`
  }
  await db`update site set identity = '{"product": "p", "version": "1", "instance_id": "i"}',
    connectivity = 'tls-error', connectivity_error = ${failedText}::text::jsonb, sync_error = ${failedText}::text::jsonb,
    sync_result = '{"seen": "all"}', seen_certificate = '{"fingerprint": "ab", "subject": "CN=x", "issuer": "y"}'
    where id = ${siteId}::uuid`
}
/** Entries in every state that a page shows in a way of its own. */
const spreadEntries = async (db: Db, oslo: string): Promise<void> => {
  const entries = await db<
    { id: string; instanceId: string }[]
  >`select id, instance_id from entry order by id`
  const states = ['conflict', 'error', 'final-import', 'idle', 'blocked', 'finished']
  for (const [at, { id, instanceId }] of entries.entries()) {
    const [job = ''] = await add(db, {
      kind: 'final-verify',
      payload: { batch: 'wave-1', entry_id: id },
      subject: { type: 'entry', id },
      lane: 'batch/wave-1',
    })
    await db`update job set state = 'failed', finished_at = now(), error = ${failedText}::text::jsonb,
      result = '{"said": "so"}', checkpoint = '{"at": "here"}' where id = ${job}::uuid`
    await db`update entry set state = ${states[at] ?? 'waiting'}, target_id = ${oslo}::uuid, machine_ref = ${`m-${at}`},
      reason = 'platform-fault', message = 'It failed.', error = ${failedText}::text::jsonb, job_id = ${job}::uuid,
      reasons = '[{"code": "target-absent", "message": "It is not there."}]',
      placement = '{"target": "oslo", "project": "p", "host": "h", "pools": {"2000": "local"},
        "networks": {"00:50:56:aa:00:01": {"network": "n", "nictype": "bridged", "vlan_id": "1"}}}',
      pending = '{"changes": [{"path": "/host", "from": "a", "to": "b"}], "script_log": ["said"]}',
      baseline = '{"hostname": "h", "addresses": ["1"], "ports": []}',
      source_stopped_at = ${at === 2 ? new Date() : null} where id = ${id}::uuid`
    await addTraces(db, { id, instanceId, job, state: at % 2 ? 'debt' : 'done' })
  }
}

/** What an entry leaves behind: effects, events, findings, warnings. */
const addTraces = async (
  db: Db,
  entry: { readonly id: string; readonly instanceId: string; readonly job: string; readonly state: string },
): Promise<void> => {
  const { id, instanceId, job, state } = entry
  await db`insert into entry_disk (entry_id, disk, target_disk, capacity, change_id)
      values (${id}::uuid, '2000', 'd', 1, 'c') on conflict do nothing`
  await db`insert into effect (id, job_id, subject_type, subject_id, epoch, kind, platform, name, external_id, state, error)
      values (${uuidv7()}::uuid, ${job}::uuid, 'entry', ${id}, 1, 'source-stop', 'lab', 'n', 'x', ${state},
        ${failedText}::text::jsonb)`
  await db`insert into event (type, subject_type, subject_id, job_id, actor, reason, detail)
      values ('entry.failed', 'entry', ${id}, ${job}::uuid, 'test', 'It failed.', '{"said": "so"}')`
  await addFinding(db, { instanceId, rule: 'shared-disk', severity: 'critical' })
  await db`update instance set problem = ${failedText}::text::jsonb, notes = '["seen"]', ignored_detail = 'why',
      pending = '{"name": "other"}', pending_since = now() where id = ${instanceId}::uuid`
  for (const entity of [`instance/${instanceId}`, 'source/paris', 'target/oslo']) {
    const [type = '', entityId = ''] = entity.split('/')
    await db`insert into warning (id, type, entity_type, entity_id, entity_name, messages)
        values (${uuidv7()}::uuid, 'sync-failed', ${type}, ${entityId}, 'n', '[{"text": "It failed.", "count": 1}]') on conflict do nothing`
  }
}

/** Jobs in every state, machines and what is done to them. */
const addWork = async (db: Db, call: Client, oslo: string): Promise<void> => {
  await add(db, {})
  const [waits = '', runs = ''] = await add(db, {}, {})
  await db`update job set state = 'waiting', wait_reason = 'guest', wait_detail = 'It waits.', wait_since = now(),
    wait_until = now() + interval '1 hour', error = ${failedText}::text::jsonb where id = ${waits}::uuid`
  await db`update job set state = 'running', lease_until = now() + interval '1 hour', started_at = now(),
    checkpoint = '{"at": "x"}' where id = ${runs}::uuid`
  for (const name of ['vm-1', 'vm-2']) {
    const machine = await addMachine(db, { name, targetId: oslo })
    const asked = await call('POST', '/v1/operations', { json: { machine, kind: 'stop' } })
    expect(asked.status, asked.text).toBe(202)
    await db`update operation set state = ${name === 'vm-1' ? 'failed' : 'pending'}, message = 'It failed.',
      finished_at = ${name === 'vm-1' ? new Date() : null}, error = ${failedText}::text::jsonb,
      result = '{"ref": "r", "name": "n"}' where machine_id = ${machine}::uuid`
  }
}
/** A template that a stranger is in the way of, after an image that could not be imported. */
const addTemplates = async (db: Db, call: Client): Promise<void> => {
  for (const name of ['debian-13', 'debian-14']) await importImage(db, call, name)
  expect((await askTemplate(call)).status).toBe(202)
  await finishSwap(db, 'debian')
  await call('POST', '/v1/templates/debian/:update', { json: { image: 'debian-14' } })
  await failSwap(db, 'debian')
  await call('POST', '/v1/templates/debian/:rollback', { json: {} })
  await finishSwap(db, 'debian')
  await db`update template set state = 'conflict', error = ${failedText}::text::jsonb`
  await db`update image set state = 'failed', error = ${failedText}::text::jsonb where name = 'debian-14'`
}

const addCertificate = async (db: Db): Promise<void> => {
  const [entry] = await db<{ id: string; instanceId: string }[]>`
    select id, instance_id from entry where state = 'finished'`
  const { key, document } = sampleFile({
    entry_id: entry?.id ?? '',
    instance: { id: entry?.instanceId ?? '', uuid: '42', name: 'web' },
    ignored: [{ code: 'agent', message: 'It does not answer.' }],
    forced: true,
  })
  const keyId = keyIdOf(key.publicKey)
  const past = { privateKey: Buffer.from('sealed'), follows: null, vouched: null }
  await db.begin(async (tx) => {
    await insertSigningKey(tx as never, { id: keyId, publicKey: key.publicKey, ...past })
    await insertCertificate(tx as never, {
      id: document.id,
      entryId: document.entry_id,
      instanceId: document.instance.id,
      batchName: document.batch,
      instanceName: document.instance.name,
      document,
      signature: signCertificate(document, key),
      keyId,
    })
  })
  await db`update entry set certificate_id = ${document.id}::uuid where id = ${document.entry_id}::uuid`
}

const addPlan = async (db: Db, instanceId: string): Promise<void> => {
  const item = {
    ...{ instance_id: instanceId, name: 'web', source: 'paris', standing: 'goes', state: null },
    reasons: [{ code: 'x', message: 'It is so.' }],
    placement: { target: 'oslo', project: 'p', host: 'h', pools: { 2000: 'local' }, networks: {} },
    ...{
      bytes: 1,
      tracked: true,
      tokens: [],
      window: null,
      window_note: 'none',
      copy_ms: null,
      downtime_ms: null,
    },
    forecast_note: 'none',
  }
  const none = { blocked: 0, conflict: 0, on_its_way: 0, in_other_batch: 0, without_window: 0 }
  const totals = { instances: 1, goes: 1, ...none, bytes: 1, tokens: {}, copy_ms: null, forecast_note: '' }
  const document = {
    version: 1,
    planned_at: '2026-03-01T10:00:00.000Z',
    settings: 'x',
    totals,
    items: [item],
  }
  await db`insert into batch_plan (id, batch_id, document, digest, created_by) select ${uuidv7()}::uuid, id,
    ${JSON.stringify(document)}::text::jsonb, 'd', 'test' from batch`
  await db`update batch set message = 'It failed.'`
}

/** A fleet in which every text that comes from a platform is hostile: its entries, jobs, machines, papers and history. */
export const makeHostileFleet = async (db: Db, call: Client): Promise<void> => {
  const ids = await addFleet(db, ['web-1', 'web-2', 'web-3', 'web-4', 'web-5', 'web-6'])
  const sites = await db<{ id: string; role: string }[]>`select id, role from site`
  const oslo = sites.find(({ role }) => role === 'target')?.id ?? ''
  await startBatch(db, call)
  await restEntries(db)
  for (const { id } of sites) await addThings(db, id)
  await spreadEntries(db, oslo)
  await addWork(db, call, oslo)
  await addCertificate(db)
  await addPlan(db, ids['web-1'] ?? '')
  await addTemplates(db, call)
  await poisonRows(db)
}
