import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { v7 as uuidv7 } from 'uuid'
import { expect, test } from 'vitest'
import { insertReplica, writeReplica } from '../../../db/queries/templates/replica-rows.ts'
import { ownerOfImage } from '../../../src/domain/template/names.ts'
import { installationId } from '../../../src/ledger/installation.ts'
import { openLab } from '../../../src/platforms/lab/lab.ts'
import { portOf } from '../../../src/platforms/ports/ports.ts'
import { sendRemoval } from '../../../src/template/ask/template-jobs.ts'
import { handleRemoveReplica } from '../../../workers/handlers/remove-replica.ts'
import { atEnd } from '../../support/cleanup.ts'
import { createEntryWorker } from '../../support/entry-world.ts'
import { createInventoryWorker } from '../../support/inventory.ts'
import { createOperatingWorld } from '../../support/operating.ts'

const { db, lab, target, fault, clearFaults } = await createOperatingWorld({ at: 'cloud' })
const { use } = createInventoryWorker(db, openLab)
const worker = createEntryWorker(db, [handleRemoveReplica], use)
const platform = openLab({
  ...{ kind: 'lab', endpoint: lab.endpoint('cloud'), username: 'drover', password: lab.password },
  ...{ ca: '', fingerprint: '', caller: 'test', connectTimeoutMs: 10_000 },
})
atEnd(() => platform.close())
const templates = portOf(platform, 'templates')
const callOf = (name: string) => ({ name, signal: AbortSignal.timeout(60_000), timeoutMs: 30_000 })
const content = randomBytes(4_096)

/** An object on the target that a person has let go of, with the job that destroys it. */
const makeRemoved = async (owner: (imageId: string) => Promise<Record<string, string>>) => {
  const [imageId, replicaId] = [uuidv7(), uuidv7()]
  const ref = await templates.importImage(
    callOf(`import-${replicaId}`),
    {
      ...{ templateName: `drv-img-${replicaId.slice(-12)}`, folder: '/cloud/templates', project: 'default' },
      ...{
        pool: 'local',
        host: '',
        network: '',
        ovf: '',
        cpus: 1,
        memory: 1024 ** 3,
        owner: await owner(imageId),
      },
      disks: [
        {
          ...{ id: 'disk-0', capacity: 1024 ** 2, size: content.length, format: 'raw' },
          open: () => Promise.resolve(Readable.from([content], { objectMode: false })),
        },
      ],
    },
    () => {},
  )
  const jobId = (await db.begin(async (tx) => {
    const at = { targetId: target.id, folder: '/cloud/templates', project: 'default', pool: 'local' }
    await insertReplica(tx, { id: replicaId, imageId, templateId: null, ...at, host: '', network: '' })
    await writeReplica(tx, replicaId, { state: 'removing', ref })
    const subject = { type: 'image', id: imageId }
    return await sendRemoval(tx, { replicaId, subject, target: target.name, by: 'test' })
  })) as string
  const stateOf = async () => {
    const [row] = await db<{ state: string }[]>`select state from image_replica where id = ${replicaId}::uuid`
    return row?.state
  }
  const isThere = async () => (await templates.template(callOf('look'), ref)).found
  return { ref, replicaId, jobId, stateOf, isThere }
}

const ours = async (imageId: string) => ({
  ...ownerOfImage({ imageId, installation: await installationId(db) }),
})

test('a copy is destroyed once, and told of, also when the answer of the target is lost', async () => {
  const { jobId, ref, stateOf, isThere } = await makeRemoved(ours)
  await fault({ kind: 'lost-answer', call: 'destroy', times: 1 })
  const job = await worker.finish(jobId)
  await clearFaults()
  expect([job.state, await stateOf(), await isThere()]).toEqual(['succeeded', 'gone', false])
  const told = await db`select detail ->> 'ref' as ref from event where type = 'image.copy-destroyed'`
  expect(told).toEqual([{ ref }])
})

test('what does not carry our tag stays, and the job says what it is', async () => {
  const foreign = await makeRemoved((imageId) =>
    Promise.resolve({ ...ownerOfImage({ imageId, installation: 'another' }) }),
  )
  const job = await worker.finish(foreign.jobId)
  expect([job.state, job.error?.code, await foreign.isThere()]).toEqual(['failed', 'template-not-ours', true])
  expect(await foreign.stateOf()).toBe('removing')
})

test('nothing is destroyed of which nobody has asked it', async () => {
  const kept = await makeRemoved(ours)
  await db`update image_replica set state = 'ready' where id = ${kept.replicaId}::uuid`
  const job = await worker.finish(kept.jobId)
  expect([job.state, job.error?.code, await kept.isThere()]).toEqual(['failed', 'replica-in-use', true])
})
