import type { XmlNode } from '../../../xml/xml-node.ts'
import type { ImageDisk } from '../../ports/templates.ts'
import { upToExtraConfig } from '../machines/machines-spec.ts'
import { refused } from '../soap/machines-reading.ts'
import { element, wrap } from '../soap/soap-request.ts'

/** One file that vSphere wants for a device, as CreateImportSpec answers it. */
export interface WantedFile {
  /** Under this key the lease lists its address. */
  readonly deviceId: string
  readonly path: string
  /** A new file, put as it is; otherwise the content of a disk. */
  readonly isNew: boolean
}

/** The names that an OVF descriptor gives to the networks of its machine. */
export const networkNames = (ovf: string): readonly string[] => [
  ...new Set(tagsOf(ovf, 'Network').flatMap((tag) => attributeOf(tag, 'name') ?? [])),
]

/**
 * Which disk of the image fills a file: named by the file itself, by the id of the file, or by that of a disk on
 * it. A file without a disk, or a disk without a file, would make a machine with a hole.
 */
export const matchDisks = (
  ovf: string,
  wanted: readonly WantedFile[],
  disks: readonly ImageDisk[],
): readonly { readonly file: WantedFile; readonly disk: ImageDisk }[] => {
  const files = tagsOf(ovf, 'File').map((tag) => ({
    id: attributeOf(tag, 'id') ?? '',
    href: attributeOf(tag, 'href') ?? '',
  }))
  const diskTags = tagsOf(ovf, 'Disk')
  const pairs = wanted.map((file) => {
    const id = files.find((one) => one.href === file.path)?.id
    const onFile = diskTags.filter((tag) => id !== undefined && attributeOf(tag, 'fileRef') === id)
    const names = new Set([file.path, id, ...onFile.map((tag) => attributeOf(tag, 'diskId'))])
    const disk = disks.find((one) => names.has(one.id))
    if (disk) return { file, disk }
    throw refused(`The image has no disk for ${file.path}, which its descriptor names.`, badImage)
  })
  const idle = disks.find((disk) => !pairs.some((pair) => pair.disk === disk))
  if (idle) throw refused(`The descriptor of the image does not name its disk ${idle.id}.`, badImage)
  return pairs
}

const badImage = 'Make the image anew, or import it by hand to see what vSphere says of it.'

/** Descriptors are some kilobytes; who made this one, nobody knows. */
const longestOvf = 4 * 1024 ** 2
const mostTags = 1_000

const tagsOf = (ovf: string, name: string): readonly string[] => {
  if (ovf.length > longestOvf)
    throw refused(`The descriptor of the image is longer than ${longestOvf} characters.`, badImage)
  // A tag ends before the next one begins: else each beginning without an end would be looked through to the end.
  const tags = ovf.match(new RegExp(`<(?:[\\w.-]{1,64}:)?${name}\\s[^<>]*>`, 'g')) ?? []
  if (tags.length <= mostTags) return tags
  throw refused(`The descriptor of the image has more than ${mostTags} times ${name}.`, badImage)
}

const attributeOf = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\s(?:[\\w.-]+:)?${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag)
  const value = found?.[1] ?? found?.[2]
  return value?.replaceAll(/&(lt|gt|quot|apos|amp);/g, (_all, entity: string) => entities[entity] ?? '')
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

/** An answer's element as XML again, with its types, to be sent back under another name. */
export const resend = (node: XmlNode, name = node.name): string => {
  const inner = node.children.length > 0 ? node.children.map((one) => resend(one)).join('') : undefined
  if (node.refType !== '') return withRefType(node, name)
  const type = node.xsiType === '' ? undefined : schemaType(node.xsiType)
  return inner === undefined ? element(name, node.text, type) : wrap(name, inner, type)
}

const withRefType = (node: XmlNode, name: string): string => {
  const plain = element(name, node.text, node.xsiType === '' ? undefined : schemaType(node.xsiType))
  return plain.replace(/^<[^\s>]+/, (start) => `${start} type="${node.refType.replaceAll('"', '')}"`)
}

/** Types of XML Schema begin with a small letter, those of vSphere with a capital; the prefix was left out. */
const schemaType = (type: string): string => (/^[a-z]/.test(type) ? `xsd:${type}` : type)

/** The import spec to be sent back, with entries of ours in the configuration of its machine. */
export const specWithEntries = (importSpec: XmlNode, entries: readonly string[]): string => {
  if (importSpec.xsiType !== 'VirtualMachineImportSpec')
    throw refused(
      `The image holds a ${importSpec.xsiType}, not one machine.`,
      'Split it into one image each.',
    )
  const inner = importSpec.children.map((part) =>
    part.name === 'configSpec' ? wrap('configSpec', insertEntries(part, entries)) : resend(part),
  )
  return wrap('spec', inner.join(''), 'VirtualMachineImportSpec')
}

const insertEntries = (configSpec: XmlNode, entries: readonly string[]): string => {
  const { children } = configSpec
  const place = children.findLastIndex((one) => upToExtraConfig.has(one.name)) + 1
  return [
    ...children.slice(0, place).map((one) => resend(one)),
    ...entries,
    ...children.slice(place).map((one) => resend(one)),
  ].join('')
}
