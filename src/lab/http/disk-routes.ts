import type { Queryable } from '../../../db/client.ts'
import { wireLimits } from '../../platforms/lab/wire-limits.ts'
import { blockBytes } from '../model/disk-content.ts'
import { type DiskView, viewDisk } from '../store/disks.ts'
import { getMachine } from '../store/machines.ts'
import { changeSite } from '../store/sites.ts'
import { checkReadable, isInSnapshots } from '../tasks/disk-attachment.ts'
import { changedBlocks, listExtents, readBytes, writeBytes } from '../tasks/disk-bytes.ts'
import { ofKind } from '../tasks/faults.ts'
import { guestWrites } from '../tasks/guest-load.ts'
import { checkReachable } from '../tasks/tasks.ts'
import { readBody, type SiteCall, type SiteRoute, wholeNumber } from './call.ts'
import { cutShort } from './cut-short.ts'

/** Looks at a disk in one consistent moment, with what a running guest has written by now. */
const look = async <Result>(
  call: SiteCall,
  work: (db: Queryable, view: DiskView) => Promise<Result>,
): Promise<Result> => {
  const { lab, site, params, query } = call
  const machine = await getMachine(lab.db, site.name, params.ref ?? '')
  await checkReachable({ tx: lab.db as never, site: site.name }, machine)
  if (machine.power === 'on' && machine.guest?.writes)
    await changeSite(lab, site.name, { why: 'guest' }, async (change) => {
      await guestWrites(change, await getMachine(change.tx, site.name, machine.ref))
    })
  const which = {
    site: site.name,
    machine: machine.ref,
    key: params.key ?? '',
    snapshot: query.get('snapshot') ?? '',
  }
  return (await lab.db.begin('isolation level repeatable read read only', async (tx) => {
    const now = await getMachine(tx, site.name, machine.ref)
    checkReadable(now, which.key, which.snapshot)
    const view = await viewDisk(tx, which)
    return work(tx, isInSnapshots(now, which.key) ? view : { ...view, tracking: null })
  })) as Result
}

/** One byte of each block that is touched becomes another. */
const corrupted = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes)
  for (let at = 0; at < copy.length; at += blockBytes) copy.writeUInt8(copy.readUInt8(at) ^ 0xff, at)
  return copy
}

export const diskRoutes: readonly SiteRoute[] = [
  {
    method: 'GET',
    path: '/instances/:ref/disks/:key/extents',
    call: 'extents',
    handle: async (call) => {
      const offset = wholeNumber(call.query, 'offset', 0)
      return { status: 200, json: await look(call, (db, view) => listExtents(db, view, offset)) }
    },
  },
  {
    method: 'GET',
    path: '/instances/:ref/disks/:key/bytes',
    call: 'read',
    handle: async (call) => {
      const range = { offset: wholeNumber(call.query, 'offset'), length: wholeNumber(call.query, 'length') }
      const bytes = await look(call, (db, view) => readBytes(db, view, range))
      return { status: 200, bytes: ofKind(call.struck, 'corrupt-block') ? corrupted(bytes) : bytes }
    },
  },
  {
    method: 'PUT',
    path: '/instances/:ref/disks/:key/bytes',
    call: 'write',
    takes: 'bytes',
    handle: async (call) => {
      const { lab, site, params, struck } = call
      const bytes = await readBody(call.request, wireLimits.rangeBytes)
      const machine = await getMachine(lab.db, site.name, params.ref ?? '')
      await checkReachable({ tx: lab.db as never, site: site.name }, machine)
      const where = {
        site: site.name,
        machine: machine.ref,
        key: params.key ?? '',
        offset: wholeNumber(call.query, 'offset'),
      }
      const partial = ofKind(struck, 'partial-write')
      if (partial) {
        const part = bytes.subarray(0, Math.floor(bytes.length * partial.fraction))
        if (part.length > 0) await writeBytes(lab.db, where, part)
        throw cutShort
      }
      await writeBytes(lab.db, where, ofKind(struck, 'corrupt-block') ? corrupted(bytes) : bytes)
      return { status: 204 }
    },
  },
  {
    method: 'GET',
    path: '/instances/:ref/disks/:key/changes',
    call: 'changed-blocks',
    handle: async (call) => {
      const changeId = call.query.get('change_id') ?? '*'
      return { status: 200, json: await look(call, (db, view) => changedBlocks(db, view, changeId)) }
    },
  },
]
