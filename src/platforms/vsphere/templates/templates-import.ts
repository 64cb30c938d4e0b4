import { child, childrenOf, flagOf, type Ref, textOf, type XmlNode } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { isHandedOver, withinCall } from '../../ports/call.ts'
import type { Connection } from '../../ports/connection.ts'
import { PlatformError, unsupported } from '../../ports/platform-error.ts'
import type { ImageDisk, ImportProgress, NewImage } from '../../ports/templates.ts'
import { nameTaken } from '../machines/machines.ts'
import { findChild, findFolder, wireName } from '../machines/machines-folder.ts'
import { type Marks, markEntries, readMarks, writeMarks } from '../machines/machines-ownership.ts'
import { findPlace, networksOf, type Place, pickNetwork } from '../machines/machines-placement.ts'
import { optionValues } from '../machines/machines-spec.ts'
import { hostOf, machineRef, refused } from '../soap/machines-reading.ts'
import { requireVcenter } from '../soap/service-content.ts'
import type { Session } from '../soap/session.ts'
import { localizedFault } from '../soap/soap-fault.ts'
import { element, refElement, wrap } from '../soap/soap-request.ts'
import { startTask } from '../soap/tasks.ts'
import { abortLease, completeLease, type DeviceUrl, keepingLease, leaseOf, leaseReady } from './nfc-lease.ts'
import { uploadFile } from './nfc-lease-upload.ts'
import { markTemplate } from './templates-mark.ts'
import { matchDisks, networkNames, specWithEntries, type WantedFile } from './templates-ovf.ts'

const cleanUpMs = 20_000

interface Import {
  readonly session: Session
  readonly connection: Connection
  readonly image: NewImage
  readonly onProgress: (progress: ImportProgress) => void
}

/**
 * Brings an image in under its name: asked for again, it gives what the first call made, and what a crash of ours
 * cut short under the same name is removed first. It is a template, and so complete, after everything else.
 */
export const importImage = async (work: Import, call: Call): Promise<string> => {
  for (const disk of work.image.disks)
    if (disk.format !== 'vmdk-stream') throw unsupported('vSphere', `import a disk as ${disk.format}`)
  return withinCall(call, async (signal) => {
    const during = { ...call, signal }
    requireVcenter(await work.session.content(during), 'keep templates')
    const known = await earlier(work, during)
    if (known !== undefined) return known
    const place = await findPlace(work.session, during, {
      folder: work.image.folder,
      project: work.image.project,
      host: work.image.host,
      storage: work.image.pool,
    })
    const spec = await createSpec(work, during, place)
    const files = matchDisks(work.image.ovf, spec.files, work.image.disks)
    try {
      return await fill(work, during, { place, spec, files })
    } catch (error) {
      if (!isHandedOver(error)) await removeRest(work, call.name)
      throw error
    }
  })
}

/** The whole image of an earlier call by the same name, if there is one. */
const earlier = async (work: Import, call: Call): Promise<string | undefined> => {
  const found = await ours(work, call)
  if (!found) return undefined
  if (found.marks.import === 'complete') {
    await markTemplate(work.session, call, found.ref)
    return found.ref
  }
  await destroy(work.session, call, found.ref)
  return undefined
}

/** What has the name in the folder: the same call's, or nothing; somebody else's throws. */
const ours = async (
  { session, image }: Import,
  call: Call,
): Promise<{ readonly ref: string; readonly marks: Marks } | undefined> => {
  const folder = await findFolder(session, call, image.folder)
  const found = await findChild(session, call, folder, image.templateName)
  if (!found) return undefined
  const marks = found.type === 'VirtualMachine' ? await readMarks(session, call, found.value) : undefined
  if (marks?.found && marks.value.madeBy === call.name) return { ref: found.value, marks: marks.value }
  throw nameTaken(image.templateName, found)
}

interface ImportSpec {
  readonly spec: XmlNode
  readonly files: readonly WantedFile[]
}

const createSpec = async ({ session, image }: Import, call: Call, place: Place): Promise<ImportSpec> => {
  const on = await session.manager(call, 'ovfManager')
  const names = networkNames(image.ovf)
  const known =
    names.length === 0 || image.network === '' ? [] : await networksOf(session, call, place.datacenter)
  const network = known.length === 0 ? undefined : pickNetwork(session, known, image.network)
  const params =
    element('locale', '') +
    element('deploymentOption', '') +
    element('entityName', wireName(image.templateName)) +
    (place.host ? refElement('hostSystem', place.host) : '') +
    (network
      ? names.map((name) =>
          wrap('networkMapping', element('name', name) + refElement('network', network.ref)),
        )
      : []
    ).join('') +
    element('diskProvisioning', 'thin')
  const body =
    element('ovfDescriptor', image.ovf) +
    refElement('resourcePool', place.pool) +
    refElement('datastore', place.datastore.ref) +
    wrap('cisp', params)
  const answer = await session.call(call, { on, method: 'CreateImportSpec', body, repeatable: true })
  return readSpec(session, child(answer, 'returnval'))
}

const readSpec = (session: Session, result: XmlNode | undefined): ImportSpec => {
  const error = child(result, 'error')
  if (error) {
    const fault = localizedFault(error)
    throw refused(
      `${hostOf(session)} does not take the image: ${fault.type} ${fault.message.slice(0, 200)}`.trim(),
      'Change what it names in the image, or choose a host and a version of vSphere that have it.',
      { detail: { fault: fault.type } },
    )
  }
  const spec = child(result, 'importSpec')
  if (!spec) throw refused('vSphere made no import out of the image.', 'Check the descriptor of the image.')
  const files = childrenOf(result, 'fileItem').map((item) => ({
    deviceId: textOf(item, 'deviceId'),
    path: textOf(item, 'path'),
    isNew: flagOf(item, 'create'),
  }))
  return { spec, files }
}

const fill = async (
  work: Import,
  call: Call,
  made: {
    readonly place: Place
    readonly spec: ImportSpec
    readonly files: readonly { readonly file: WantedFile; readonly disk: ImageDisk }[]
  },
): Promise<string> => {
  const { session, image } = work
  const { place, spec, files } = made
  const marks = markEntries({ owner: image.owner, madeBy: call.name, import: 'pending' })
  const body =
    specWithEntries(spec.spec, optionValues(marks)) +
    refElement('folder', place.folder) +
    (place.host ? refElement('host', place.host) : '')
  const answer = await session.call(call, { on: place.pool, method: 'ImportVApp', body })
  const lease = leaseOf(answer)
  if (!lease) throw refused('vSphere opened no import.', 'Look at the recent tasks in vSphere.')
  const machine = await throughLease(work, call, lease, files)
  await writeMarks(session, call, machine, { import: 'complete' })
  // A template takes no marks any more, so this is the very last.
  await markTemplate(session, call, machine)
  return machine
}

const throughLease = async (
  { session, connection, image, onProgress }: Import,
  call: Call,
  lease: Ref,
  files: readonly { readonly file: WantedFile; readonly disk: ImageDisk }[],
): Promise<string> => {
  const total = image.disks.reduce((sum, disk) => sum + disk.size, 0)
  let done = 0
  try {
    const { machine, devices } = await leaseReady(session, call, lease)
    const percent = () => (total === 0 ? 0 : (done * 100) / total)
    await keepingLease(session, call, { lease, percent }, async (signal) => {
      for (const { file, disk } of files) {
        const device = deviceFor(session, devices, file)
        await uploadFile(
          session,
          { ...call, signal },
          {
            device,
            connection,
            content: await disk.open(),
            bytes: disk.size,
            isNew: file.isNew,
            onBytes: (bytes) => {
              done += bytes
              onProgress({ done, total })
            },
          },
        )
      }
    })
    await completeLease(session, call, { lease, machine })
    return machine
  } catch (error) {
    await abortLease(session, lease)
    throw error
  }
}

const deviceFor = (session: Session, devices: readonly DeviceUrl[], file: WantedFile): DeviceUrl => {
  const device = devices.find((one) => one.importKey === file.deviceId)
  if (device) return device
  throw new PlatformError({
    code: 'platform-answer-invalid',
    failure: 'unknown',
    message: `${hostOf(session)} gave no address for ${file.path}.`,
    remedy: 'It is tried again. When it stays so, look at the recent tasks in vSphere.',
  })
}

/**
 * After a failure nothing may be left. vSphere removes what it aborts, the simulator does not, and an answer to
 * the import that was lost leaves a machine that no lease of ours knows: so it is looked for by name and owner.
 */
const removeRest = async (work: Import, name: string): Promise<void> => {
  const call: Call = { signal: AbortSignal.timeout(cleanUpMs), timeoutMs: cleanUpMs, name }
  try {
    const found = await ours(work, call)
    if (found) await destroy(work.session, call, found.ref)
  } catch {
    // The first error says more. What is left is not complete, has our mark, and the next try removes it.
  }
}

const destroy = async (session: Session, call: Call, machine: string): Promise<void> => {
  try {
    const task = await startTask(session, call, { on: machineRef(machine), method: 'Destroy_Task' })
    await task.wait(call)
  } catch (error) {
    if (!(error instanceof PlatformError) || error.failure !== 'absent') throw error
  }
}
