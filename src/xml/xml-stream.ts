import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'
import type { XmlNode } from './xml-node.ts'

/** Why a document is refused. Callers turn it into their own error, such as `platform-answer-invalid`. */
export class XmlRefusal extends Error {}

export interface XmlLimits {
  /** The limit of the whole document. */
  readonly totalBytes: number
  readonly depth: number
  /** The limit of one item, or of a document without items: the part that is held in memory. */
  readonly itemBytes: number
  /** Keep the attributes of every element by local name; two attributes with the same local name are refused. */
  readonly attributes?: true
}

export const usualXmlLimits: XmlLimits = { totalBytes: 64 << 20, depth: 64, itemBytes: 64 << 20 }

/** Elements that are passed on one by one and then released, so memory does not grow with their number. */
export interface XmlItems {
  readonly name: string
  /** The number of ancestors: 4 for `Envelope/Body/…Response/returnval/objects`. */
  readonly depth: number
  readonly each: (item: XmlNode) => void
}

/** An `XmlNode` while it is still open. */
interface OpenNode {
  readonly name: string
  readonly xsiType: string
  readonly refType: string
  readonly attributes: Readonly<Record<string, string>> | undefined
  children: OpenNode[]
  text: string
}

/** An element takes more memory than its few bytes in the document, so elements are limited as well. */
const mostElements = 500_000
/** The most bytes between the ends of two tags: a text, a comment, or attributes. */
const longestPiece = 4 << 20

/** Shared by all leaves, because most elements are leaves. */
const noChildren: OpenNode[] = []

/**
 * Builds small trees from a stream of any length. Only the five entities of XML are known. A DOCTYPE is refused, and
 * so is a document that is too deep, too long, or has a piece that is too long.
 */
export class XmlStream {
  readonly #limits: XmlLimits
  readonly #items: XmlItems | undefined
  readonly #parser = new SaxesParser({ xmlns: false, position: false })
  readonly #decoder = new StringDecoder('utf8')
  readonly #stack: OpenNode[] = []
  #heldElements = 0
  #root: OpenNode | undefined
  #totalBytes = 0
  /** The bytes that were read when the last item was passed on. */
  #releasedAtBytes = 0
  #lastTagAtBytes = 0

  constructor(limits: XmlLimits, items?: XmlItems) {
    this.#limits = limits
    this.#items = items
    this.#listen()
  }

  /** Throws `XmlRefusal`. */
  write(chunk: Buffer): void {
    this.#totalBytes += chunk.length
    if (this.#totalBytes > this.#limits.totalBytes)
      throw new XmlRefusal(`it is longer than ${this.#limits.totalBytes} bytes`)
    this.#parser.write(this.#decoder.write(chunk))
    if (this.#totalBytes - this.#releasedAtBytes > this.#limits.itemBytes)
      throw new XmlRefusal(`one thing in it is longer than ${this.#limits.itemBytes} bytes`)
    if (this.#totalBytes - this.#lastTagAtBytes > longestPiece)
      throw new XmlRefusal(`a piece of it is longer than ${longestPiece} bytes`)
  }

  /** The document without its items. Throws `XmlRefusal` if the document is truncated. */
  end(): XmlNode {
    this.#parser.write(this.#decoder.end()).close()
    if (!this.#root) throw new XmlRefusal('it is empty')
    return this.#root
  }

  #listen(): void {
    const parser = this.#parser
    parser.on('error', (error) => {
      // The text after the colon is from the document, and left out.
      throw new XmlRefusal(`it is no well-formed XML (${error.message.split(':', 1)[0]})`)
    })
    parser.on('doctype', () => {
      throw new XmlRefusal('it holds a DOCTYPE')
    })
    parser.on('xmldecl', ({ encoding }) => {
      if (encoding !== undefined && encoding.toLowerCase() !== 'utf-8')
        throw new XmlRefusal('it is not in UTF-8')
    })
    // No handler for attributes: V8 then deoptimises the parser's fields, and parsing is four times slower.
    parser.on('opentag', (tag) => this.#open(tag.name, tag.attributes))
    parser.on('text', (text) => this.#addText(text))
    parser.on('cdata', (text) => this.#addText(text))
    parser.on('closetag', () => this.#close())
  }

  #open(name: string, attributes: Record<string, string>): void {
    if (this.#stack.length >= this.#limits.depth)
      throw new XmlRefusal(`it is deeper than ${this.#limits.depth} elements`)
    this.#lastTagAtBytes = this.#totalBytes
    this.#heldElements += 1
    if (this.#heldElements > mostElements)
      throw new XmlRefusal(`one thing in it has more than ${mostElements} elements`)
    let xsiType = ''
    let refType = ''
    for (const key in attributes) {
      const value = attributes[key] as string
      if (key === 'type') refType = value
      else if (key.endsWith(':type')) xsiType = localName(value)
    }
    const kept = this.#limits.attributes ? localAttributes(attributes) : undefined
    this.#stack.push({
      name: localName(name),
      xsiType,
      refType,
      attributes: kept,
      children: noChildren,
      text: '',
    })
  }

  #addText(text: string): void {
    const node = this.#stack.at(-1)
    // Text beside child elements is white space, and not kept.
    if (node && node.children === noChildren) node.text = node.text === '' ? text : node.text + text
  }

  #close(): void {
    const node = this.#stack.pop() as OpenNode
    this.#lastTagAtBytes = this.#totalBytes
    if (node.children !== noChildren) node.text = ''
    const depth = this.#stack.length
    if (this.#items && depth === this.#items.depth && node.name === this.#items.name) {
      this.#releasedAtBytes = this.#totalBytes
      this.#heldElements = 0
      this.#items.each(node)
      return
    }
    const parent = this.#stack[depth - 1]
    if (!parent) this.#root = node
    else if (parent.children === noChildren) parent.children = [node]
    else parent.children.push(node)
  }
}

const localName = (name: string): string => {
  const colon = name.indexOf(':')
  return colon === -1 ? name : name.slice(colon + 1)
}

const localAttributes = (attributes: Record<string, string>): Readonly<Record<string, string>> => {
  const kept: Record<string, string> = Object.create(null)
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'xmlns' || key.startsWith('xmlns:') || key.startsWith('xml:')) continue
    const name = localName(key)
    // Readers could disagree about which attribute counts.
    if (name in kept) throw new XmlRefusal('an element has two attributes of one name')
    kept[name] = value
  }
  return kept
}
