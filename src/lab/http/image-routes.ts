import type { Queryable } from '../../../db/client.ts'
import { newImageRequest } from '../../platforms/lab/protocol.ts'
import type { Lab } from '../model/context.ts'
import { absent, invalid, Refusal, refuse, wrongState } from '../model/refusal.ts'
import { getMachine, listTemplates, type Machine, saveMachine, templatesMost } from '../store/machines.ts'
import { changeSite, newRef } from '../store/sites.ts'
import { addTask, endTask, findTaskByName, forgetTaskName } from '../store/tasks.ts'
import { addUpload, advanceUpload, findUpload, unfinishedUploads } from '../store/uploads.ts'
import { writeBytes } from '../tasks/disk-bytes.ts'
import { ofKind } from '../tasks/faults.ts'
import { specOf } from '../tasks/machine-request.ts'
import { addMachine } from '../tasks/machine-spec.ts'
import { wipe } from '../tasks/machine-tasks.ts'
import { parseAs, type SiteCall, type SiteRoute, wholeNumber } from './call.ts'
import { cutShort } from './cut-short.ts'

/** Collected before it is written: few large writes instead of many small ones, and flat memory all the same. */
const pieceBytes = 4 * 1024 * 1024

const templateAnswer = ({ ref, name, folder, owner, complete }: Machine) => ({
  ref,
  name,
  folder,
  owner,
  complete,
})

const getTemplate = async (db: Queryable, site: string, ref: string): Promise<Machine> => {
  const machine = await getMachine(db, site, ref)
  if (!machine.template) throw absent(`template "${ref.slice(0, 100)}" in ${site}`)
  return machine
}

const createImage = async (call: SiteCall): Promise<string> => {
  const { lab, site, caller, name } = call
  const image = parseAs(newImageRequest, call.body)
  const odd = image.disks.find(({ format, size, capacity }) => format !== 'raw' || size > capacity)
  if (odd && odd.format !== 'raw')
    throw new Refusal({
      code: 'platform-unsupported',
      failure: 'unsupported',
      message: `The lab takes raw disks alone, not "${odd.format}".`,
      remedy: 'Decode the disk on the way.',
    })
  if (odd) throw invalid(`Disk "${odd.id}" has more bytes than its capacity.`)
  return await changeSite(lab, site.name, { why: caller }, async (change) => {
    const first = name === '' ? undefined : await findTaskByName(change.tx, site.name, name)
    if (first?.kind === 'image-create') return first.machine
    if (first)
      throw refuse('platform-refused', `The name "${name.slice(0, 100)}" was given to something else.`)
    const ref = await newRef(change, 'template')
    const nics =
      image.network === '' ? [] : [{ mac: '', network: image.network, type: 'managed' as const, vlan: '' }]
    const disks = image.disks.map(({ id, capacity }) => ({ key: id, capacity, pool: image.pool }))
    const spec = await specOf(
      change,
      { ...image, nics, disks, uuid: '', legacy_boot: false, secure_boot: false },
      ref,
    )
    await addMachine(change, { ...spec, template: true, complete: false, lineage: `${site.name}/${ref}` })
    for (const { id, size } of image.disks)
      await addUpload(change.tx, { site: site.name, machine: ref, key: id, size })
    const task = await addTask(change, {
      kind: 'image-create',
      machine: ref,
      args: {},
      name: name === '' ? null : name,
      caller,
      takesMs: 0,
    })
    await endTask(change.tx, task.id, { result: ref, error: null })
    return ref
  })
}

/** Takes bytes as they come; what has arrived is kept when the rest does not, so that the sender can go on there. */
const receive = async (call: SiteCall): Promise<number> => {
  const { lab, site, params, request, struck } = call
  const { ref } = await incomplete(lab, call)
  const which = { site: site.name, machine: ref, key: params.id ?? '' }
  const upload = await findUpload(lab.db, which)
  if (!upload) throw absent(`disk "${which.key.slice(0, 100)}" of that image`)
  let at = wholeNumber(call.query, 'offset', 0)
  if (at > upload.received)
    throw refuse('platform-wrong-state', `${upload.received} bytes are here; ${at} would leave a hole.`)
  const partial = ofKind(struck, 'partial-write')
  const until = partial ? at + Math.floor((upload.size - at) * partial.fraction) : upload.size
  let piece: Buffer[] = []
  const flush = async () => {
    const bytes = Buffer.concat(piece)
    piece = []
    if (bytes.length === 0) return
    await writeBytes(lab.db, { ...which, offset: at }, bytes)
    at += bytes.length
    await advanceUpload(lab.db, which, at)
  }
  let held = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    const room = until - at - held
    piece.push(chunk.subarray(0, Math.max(0, room)))
    held += Math.min(chunk.length, Math.max(0, room))
    if (chunk.length > room) {
      await flush()
      if (partial) throw cutShort
      throw invalid(`The disk was announced with ${upload.size} bytes; more came.`)
    }
    if (held >= pieceBytes) {
      await flush()
      held = 0
    }
  }
  await flush()
  return at
}

const incomplete = async (lab: Lab, { site, params }: SiteCall): Promise<Machine> => {
  const machine = await getTemplate(lab.db, site.name, params.ref ?? '')
  if (machine.complete) throw wrongState(`"${machine.name}" is complete.`)
  return machine
}

export const imageRoutes: readonly SiteRoute[] = [
  {
    method: 'GET',
    path: '/templates',
    call: 'templates',
    handle: async ({ lab, site, query }) => {
      const folder = query.get('folder') ?? ''
      const templates = await listTemplates(lab.db, site.name, folder)
      if (templates.length > templatesMost)
        throw refuse('platform-refused', `More than ${templatesMost} templates are there; ask for a folder.`)
      return { status: 200, json: { templates: templates.map(templateAnswer) } }
    },
  },
  {
    method: 'GET',
    path: '/templates/:ref',
    call: 'template',
    handle: async ({ lab, site, params }) => ({
      status: 200,
      json: templateAnswer(await getTemplate(lab.db, site.name, params.ref ?? '')),
    }),
  },
  {
    method: 'POST',
    path: '/images',
    call: 'image-create',
    takes: 'json',
    handle: async (call) => ({ status: 201, json: { ref: await createImage(call) } }),
  },
  {
    method: 'PUT',
    path: '/images/:ref/disks/:id',
    call: 'image-write',
    takes: 'bytes',
    handle: async (call) => ({ status: 200, json: { received: await receive(call) } }),
  },
  {
    method: 'GET',
    path: '/images/:ref/disks/:id',
    call: 'image-received',
    handle: async ({ lab, site, params }) => {
      const which = { site: site.name, machine: params.ref ?? '', key: params.id ?? '' }
      const upload = await findUpload(lab.db, which)
      if (!upload) throw absent('such disk of an image')
      return { status: 200, json: { received: upload.received } }
    },
  },
  {
    method: 'POST',
    path: '/images/:ref/complete',
    call: 'image-complete',
    handle: async (call) => {
      const { lab, site, params, caller } = call
      const done = await changeSite(lab, site.name, { why: caller }, async (change) => {
        const machine = await getTemplate(change.tx, site.name, params.ref ?? '')
        if (machine.complete) return machine
        const missing = await unfinishedUploads(change.tx, { site: site.name, machine: machine.ref })
        if (missing.length > 0) throw wrongState(`Bytes of disk "${missing[0]}" are missing.`)
        machine.complete = true
        await saveMachine(change, machine)
        return machine
      })
      return { status: 200, json: templateAnswer(done) }
    },
  },
  {
    method: 'DELETE',
    path: '/images/:ref',
    call: 'image-abort',
    handle: async (call) => {
      const { lab, site, caller } = call
      const { ref } = await incomplete(lab, call)
      await changeSite(lab, site.name, { why: caller }, async (change) => {
        await wipe(change, await getMachine(change.tx, site.name, ref))
        await forgetTaskName(change.tx, { site: site.name, machine: ref, kind: 'image-create' })
      })
      return { status: 204 }
    },
  },
]
