import { child, type Ref, refOf } from '../../../xml/xml-node.ts'
import type { Call } from '../../ports/call.ts'
import { plainName } from '../inventory/inventory-tree.ts'
import { absent, hostOf, readPresent, readWhole, refused, textAt } from '../soap/machines-reading.ts'
import { createView, destroyView, type ObjectRead, retrieve } from '../soap/property-read.ts'
import type { Session } from '../soap/session.ts'
import { element, refElement } from '../soap/soap-request.ts'

/** Below a data centre there is always this; deeper nesting than that is a loop. */
const deepest = 64

/** vSphere keeps these three escaped in names, and looks for them so: the other way of `plainName`. */
export const wireName = (name: string): string =>
  name.replaceAll('%', '%25').replaceAll('/', '%2f').replaceAll('\\', '%5c')

/**
 * A folder for machines: by ref (`group-v12`), by inventory path (`/Paris/vm/shop`), or, when nothing is said,
 * the root folder for machines of the only data centre.
 */
export const findFolder = async (session: Session, call: Call, folder: string): Promise<Ref> => {
  if (folder === '') return onlyFolder(session, call)
  if (!folder.includes('/')) {
    const ref: Ref = { type: 'Folder', value: folder }
    const read = await readWhole(session, call, ref, ['name'])
    if (read.found) return ref
  }
  const found = await findByPath(session, call, folder)
  if (found?.type === 'Folder') return found
  if (found?.type === 'Datacenter') return vmFolder(session, call, found)
  throw absent(session, `folder ${folder}`)
}

/** `/Paris/vm/shop`. */
export const folderPath = async (session: Session, call: Call, folder: Ref): Promise<string> => {
  const names: string[] = []
  let ref: Ref | undefined = folder
  while (ref && names.length < deepest) {
    const read = await readPresent(session, call, ref, ['name', 'parent'])
    ref = refOf(read.properties.get('parent'))
    // The root has a name that nobody sees.
    if (ref) names.unshift(plainName(textAt(read, 'name')))
  }
  return `/${names.join('/')}`
}

/** The child of that very name, whatever it is. */
export const findChild = async (
  session: Session,
  call: Call,
  folder: Ref,
  name: string,
): Promise<Ref | undefined> => {
  const on = await session.manager(call, 'searchIndex')
  const body = refElement('entity', folder) + element('name', wireName(name))
  const answer = await session.call(call, { on, method: 'FindChild', body, repeatable: true })
  return refOf(child(answer, 'returnval'))
}

/** The data centre that holds it. */
export const datacenterOf = async (session: Session, call: Call, of: Ref): Promise<Ref> => {
  let ref = of
  for (let depth = 0; depth < deepest; depth += 1) {
    if (ref.type === 'Datacenter') return ref
    const paths = ref.type === 'VirtualMachine' ? ['parent', 'parentVApp'] : ['parent']
    const read = await readWhole(session, call, ref, paths)
    if (!read.found) throw absent(session, `${ref.type} ${ref.value}`)
    const above = refOf(read.value.properties.get('parent') ?? read.value.properties.get('parentVApp'))
    if (!above) break
    ref = above
  }
  throw refused(`${of.value} is in no data centre.`, 'Choose a folder below a data centre.', {
    field: 'folder',
    detail: { host: hostOf(session), ref: of.value },
  })
}

const findByPath = async (session: Session, call: Call, path: string): Promise<Ref | undefined> => {
  const on = await session.manager(call, 'searchIndex')
  const body = element('inventoryPath', path.replace(/^\/+|\/+$/g, ''))
  const answer = await session.call(call, { on, method: 'FindByInventoryPath', body, repeatable: true })
  return refOf(child(answer, 'returnval'))
}

const vmFolder = async (session: Session, call: Call, datacenter: Ref): Promise<Ref> => {
  const read = await readWhole(session, call, datacenter, ['vmFolder'])
  const ref = read.found ? refOf(read.value.properties.get('vmFolder')) : undefined
  if (ref) return ref
  throw absent(session, `folder for machines in ${datacenter.value}`)
}

const onlyFolder = async (session: Session, call: Call): Promise<Ref> => {
  const centres = await everyOf(session, call, { type: 'Datacenter', paths: ['vmFolder'] })
  const [only, another] = centres
  const folder = only && !another ? refOf(only.properties.get('vmFolder')) : undefined
  if (folder) return folder
  throw refused(
    `There are ${centres.length} data centres, and no folder says which one.`,
    'Give a folder, like /Paris/vm.',
    { field: 'folder' },
  )
}

/** Everything of one type, or all below a container. */
export const everyOf = async (
  session: Session,
  call: Call,
  of: { readonly type: string; readonly paths: readonly string[]; readonly below?: Ref },
): Promise<readonly ObjectRead[]> => {
  const root = of.below ?? (await session.manager(call, 'rootFolder'))
  const view = await createView(session, call, root, [of.type])
  const found: ObjectRead[] = []
  try {
    for await (const page of retrieve(session, call, { objects: { view }, properties: [of] }))
      found.push(...page)
  } finally {
    await destroyView(session, view)
  }
  return found
}
