import { expect, test } from 'vitest'
import type { MachineRow } from '../../../db/schema/operation.ts'
import type { CertificateDocument } from '../../../src/certificate/document.ts'
import { certificateText, verifyCertificate } from '../../../src/certificate/file.ts'
import { publicPem } from '../../../src/certificate/signing.ts'
import { differences, entryOf, eventsOfEntry, overlapsOf, powerOf } from '../../support/entry-world.ts'
import { eventsOf } from '../../support/inventory.ts'
import { createLab } from '../../support/lab.ts'
import { effectsOf } from '../../support/ledger.ts'
import { createDatabase } from '../../support/postgres.ts'
import { createVerifyWorld } from '../../support/verify-world.ts'

const { db } = await createDatabase()
const lab = await createLab()
const world = await createVerifyWorld(db, lab)

interface Kept {
  readonly document: CertificateDocument
  readonly signature: Buffer
  readonly publicKey: Buffer
}

const certificateOf = async (entryId: string): Promise<Kept> => {
  const [row] = await db<Kept[]>`
    select c.document, c.signature, k.public_key from certificate c join signing_key k on k.id = c.key_id
    where c.entry_id = ${entryId}::uuid`
  if (!row) throw new Error('There is no certificate.')
  return row
}

const machinesOf = (ref: string | null) => db<MachineRow[]>`select * from machine where ref = ${ref}`

test('what was copied is compared, read back, started, asked and certified', async () => {
  const entry = await world.ready('vm-103')
  expect(await differences(world, entry)).toEqual([])
  // A sync sees the machine while it is being migrated, and it is one machine in the end.
  await world.inventory.sync('cloud', { role: 'target' })
  const [seen] = await machinesOf(entry.machineRef)
  expect(seen).toMatchObject({ origin: 'copy', entryId: entry.id, instanceId: entry.instanceId })
  // The certificate tells what is there, not what was asked for.
  await world.to.done(`POST /instances/${entry.machineRef}/rename`, { name: 'db-01 of the shop' })
  const job = await world.verify(entry.id)
  expect([job.state, job.error, job.result]).toMatchObject(['succeeded', null, { ignored: 0 }])
  const after = await entryOf(db, entry.id)
  expect(after).toMatchObject({ state: 'finished', pending: null, jobId: null })
  expect(after.finishedAt).not.toBeNull()
  expect(await powerOf(world.from, 'vm-103')).toBe('off')
  expect(await powerOf(world.to, after.machineRef ?? '')).toBe('on')
  expect(await overlapsOf(lab)).toEqual([])
  expect((await eventsOfEntry(db, entry.id)).at(-1)).toBe('entry.verified')
  expect((await effectsOf(db, job.id)).map(({ kind, state }) => [kind, state])).toEqual([
    ['target-fit', 'done'],
    ['target-start', 'done'],
  ])

  expect(await machinesOf(entry.machineRef)).toMatchObject([
    {
      ...{
        id: seen?.id,
        origin: 'migrated',
        entryId: entry.id,
        instanceId: entry.instanceId,
        runPolicy: 'manual',
      },
      ...{ name: 'db-01 of the shop', power: 'on', host: expect.stringMatching(/^node-/), goneAt: null },
    },
  ])
  await world.inventory.sync('cloud', { role: 'target', mode: 'full' })
  expect(await machinesOf(entry.machineRef)).toMatchObject([
    { id: seen?.id, origin: 'migrated', power: 'on' },
  ])
  expect((await eventsOf(db, seen?.id ?? '')).at(-1)).toBe('machine.changed')

  const kept = await certificateOf(entry.id)
  expect(kept.document.id).toBe(after.certificateId)
  expect(kept.document.target).toMatchObject({ machine: entry.machineRef, machine_name: 'db-01 of the shop' })
  const failed = kept.document.checks.filter(({ result }) => result === 'failed')
  expect(failed).toEqual([])
  const passed = kept.document.checks.filter(({ result }) => result === 'passed').map(({ name }) => name)
  expect(passed).toEqual(
    expect.arrayContaining([
      'source-power',
      'source-identity',
      'boot',
      'agent',
      'hostname',
      'port-22',
      'port-81',
    ]),
  )
  for (const disk of kept.document.disks) expect(disk.target_digest).toBe(disk.source_digest)
  const text = certificateText(kept)
  expect(verifyCertificate(text, publicPem(kept.publicKey))).toMatchObject({ sound: true, pinned: true })
  const samples = await db`select phase from entry_history`
  expect(samples.map(({ phase }) => phase)).toContain('final-verify')
})
