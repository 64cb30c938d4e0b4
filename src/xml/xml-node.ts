/** An element of a document, without prefixes: local names are unique in answers of vSphere and in OVF descriptors. */
export interface XmlNode {
  readonly name: string
  /** `xsi:type` without its prefix; empty if the element has none. */
  readonly xsiType: string
  /** The `type` of a reference to a managed object; empty elsewhere. */
  readonly refType: string
  /** By local name; only if the stream keeps attributes. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  readonly children: readonly XmlNode[]
  /** Only of elements without children. */
  readonly text: string
}

/** A reference to a managed object: `VirtualMachine:vm-123`. */
export interface Ref {
  readonly type: string
  readonly value: string
}

export const child = (node: XmlNode | undefined, name: string): XmlNode | undefined => {
  if (node) for (const one of node.children) if (one.name === name) return one
  return undefined
}

/** The element at `a/b/c` below `node`; the first element of each name is taken. */
export const at = (node: XmlNode | undefined, path: string): XmlNode | undefined => {
  let found = node
  for (const name of path.split('/')) found = child(found, name)
  return found
}

export const childrenOf = (node: XmlNode | undefined, name: string): readonly XmlNode[] =>
  node ? node.children.filter((one) => one.name === name) : []

/** The text of the child of that name; empty when there is none. */
export const textOf = (node: XmlNode | undefined, name: string): string => child(node, name)?.text ?? ''

/** Whether the child of that name is true; false if there is none. */
export const flagOf = (node: XmlNode | undefined, name: string): boolean => isTrue(textOf(node, name))

/**
 * The meaning of a server's word; undefined for an unknown word. Checks own properties only, because every object
 * also has `constructor`.
 */
export const meaningOf = <Meaning>(
  meanings: Readonly<Record<string, Meaning>>,
  word: string,
): Meaning | undefined => (Object.hasOwn(meanings, word) ? meanings[word] : undefined)

export const isTrue = (text: string): boolean => text === 'true' || text === '1'

/** The number in the child of that name; `otherwise` when there is none or it is no number. */
export const numberOf = (node: XmlNode | undefined, name: string, otherwise = 0): number => {
  const text = textOf(node, name)
  const value = text === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : otherwise
}

export const refOf = (node: XmlNode | undefined): Ref | undefined =>
  node === undefined || node.text === ''
    ? undefined
    : { type: node.refType || node.xsiType, value: node.text }

/** The refs in an array property (`ArrayOfManagedObjectReference`) or in a list of elements. */
export const refsIn = (node: XmlNode | undefined): readonly Ref[] =>
  node ? node.children.flatMap((one) => refOf(one) ?? []) : []

export const sameRef = (left: Ref, right: Ref): boolean =>
  left.type === right.type && left.value === right.value
