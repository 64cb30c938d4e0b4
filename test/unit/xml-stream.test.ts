import fc from 'fast-check'
import { expect, test } from 'vitest'
import { escapeXml } from '../../src/platforms/vsphere/soap/soap-request.ts'
import { childrenOf, textOf, type XmlNode } from '../../src/xml/xml-node.ts'
import { usualXmlLimits, type XmlLimits, XmlRefusal, XmlStream } from '../../src/xml/xml-stream.ts'
import { heldBytes } from '../support/held-memory.ts'
import { xmlNode } from '../support/soap-answers.ts'

const read = (chunks: readonly Buffer[], limits: XmlLimits = usualXmlLimits) => {
  const items: XmlNode[] = []
  const stream = new XmlStream(limits, { name: 'item', depth: 1, each: (item) => items.push(item) })
  for (const chunk of chunks) stream.write(chunk)
  return { items, rest: stream.end() }
}

const cut = (bytes: Buffer, at: readonly number[]): Buffer[] => {
  const marks = [...new Set([0, ...at.map((place) => place % (bytes.length + 1)), bytes.length])].sort(
    (left, right) => left - right,
  )
  return marks.slice(1).map((mark, index) => bytes.subarray(marks[index], mark))
}

const texts = fc.string({ unit: 'binary', maxLength: 30 })
const fields = fc.array(
  fc.record({
    name: fc.constantFrom('name', 'val', 'device'),
    text: texts,
    type: fc.constantFrom('', 'Disk'),
  }),
  { maxLength: 6 },
)

/** What survives of a text: XML has no form for some characters, and makes one line end of several. */
const kept = (text: string) => xmlNode(`<a>${escapeXml(text)}</a>`).text

test('an answer reads the same wherever it is cut into pieces', () => {
  fc.assert(
    fc.property(fc.array(fields, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 12 }), (list, at) => {
      const text = list
        .map(
          (item) =>
            `<n:item>${item
              .map(({ name, text, type }) => {
                const attribute = type === '' ? '' : ` xsi:type="vim25:${type}"`
                return `<${name}${attribute}>${escapeXml(text)}</${name}>`
              })
              .join('\n ')}</n:item>`,
        )
        .join('\n')
      const bytes = Buffer.from(`<?xml version="1.0" encoding="UTF-8"?><root xmlns:n="x">${text}</root>`)
      const whole = read([bytes])
      expect(read(cut(bytes, at))).toEqual(whole)
      expect(
        whole.items.map((item) => item.children.map(({ name, text, xsiType }) => [name, text, xsiType])),
      ).toEqual(list.map((item) => item.map(({ name, text, type }) => [name, kept(text), type])))
    }),
    { numRuns: 300 },
  )
})

test('every text that XML can hold comes back as it was sent', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML knows no such characters
      const storable = text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
      expect(kept(text)).toBe(storable.toWellFormed())
    }),
    { numRuns: 500 },
  )
})

test('sections of plain characters and entities of XML are text', () => {
  const node = xmlNode('<a>1 &lt; 2 &amp; <![CDATA[<b>&amp;</b>]]> &#x41;&#66;</a>')
  expect(node.text).toBe('1 < 2 & <b>&amp;</b> AB')
})

test('types lose their prefixes, and a reference keeps its type', () => {
  const node = xmlNode('<a><obj type="VirtualMachine">vm-1</obj><val q:type="xsd:string">x</val></a>')
  expect(node.children).toEqual([
    { name: 'obj', xsiType: '', refType: 'VirtualMachine', children: [], text: 'vm-1' },
    { name: 'val', xsiType: 'string', refType: '', children: [], text: 'x' },
  ])
})

test('white space between elements is not text', () => {
  const node = xmlNode('<a>\n  <b>x</b>\n  <b>y</b>\n</a>')
  expect([node.text, childrenOf(node, 'b').map((one) => one.text)]).toEqual(['', ['x', 'y']])
})

const refused = (chunks: readonly string[], limits?: XmlLimits): string => {
  try {
    read(
      chunks.map((chunk) => Buffer.from(chunk)),
      limits,
    )
  } catch (error) {
    expect(error).toBeInstanceOf(XmlRefusal)
    return (error as Error).message
  }
  throw new Error('It was accepted.')
}

test('a DOCTYPE is refused, with or without definitions in it', () => {
  expect(refused(['<!DOCTYPE a><a/>'])).toContain('DOCTYPE')
  expect(refused(['<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'])).toContain('DOCTYPE')
  expect(refused(['<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'])).toContain('DOCTYPE')
})

test('an entity bomb is refused before anything of it grows', () => {
  const levels = Array.from({ length: 30 }, (_, level) => `<!ENTITY l${level + 1} "&l${level};&l${level};">`)
  const bomb = `<!DOCTYPE b [<!ENTITY l0 "boom">${levels.join('')}]><b>&l30;</b>`
  expect(refused([bomb])).toContain('DOCTYPE')
})

test('an entity that nobody defined is refused', () => {
  expect(refused(['<a>&boom;</a>'])).toContain('no well-formed XML')
})

test('elements inside each other for ever are refused', () => {
  expect(refused(['<a>'.repeat(100_000)])).toContain('deeper than 64')
})

test.each([
  ['a stream', '<root>', '<item>x</item>', 'longer than 1048576 bytes'],
  ['a text', '<root>', 'xxxxxxxx', 'one thing in it is longer'],
  ['a comment', '<root><!--', ' xxxxxxx', 'one thing in it is longer'],
  ['a section of plain characters', '<root><![CDATA[', 'xxxxxxxx', 'one thing in it is longer'],
  ['an attribute', '<root a="', 'xxxxxxxx', 'one thing in it is longer'],
  ['a name', '<root', 'xxxxxxxx', 'one thing in it is longer'],
])('%s without an end is refused at its limit', (_what, start, piece, why) => {
  const limits = { totalBytes: 1 << 20, depth: 64, itemBytes: 1 << 16 }
  const pieces = Array.from({ length: 1_000_000 >> 3 }, () => piece)
  expect(refused([start, ...pieces], limits)).toContain(why)
})

test('more elements or attributes than fit into memory are refused, however short they are', () => {
  expect(refused(['<root>', ...Array.from({ length: 2_000 }, () => '<a/>'.repeat(1_000))])).toContain(
    'more than 500000 elements',
  )
  const attributes = 'a="" '.repeat(10_000)
  expect(refused(['<root ', ...Array.from({ length: 200 }, () => attributes)])).toContain('a piece of it')
  const counted = new XmlStream(usualXmlLimits, { name: 'item', depth: 1, each: () => {} })
  counted.write(Buffer.from('<root>'))
  for (let times = 0; times < 700; times += 1) counted.write(Buffer.from('<item a="1"/>'.repeat(1_000)))
  counted.write(Buffer.from('</root>'))
  expect(counted.end().name).toBe('root')
})

test('ten gigabytes are refused at the limit and never held', () => {
  let count = 0
  const stream = new XmlStream(
    { totalBytes: 256 << 20, depth: 8, itemBytes: 1 << 20 },
    { name: 'item', depth: 1, each: () => (count += 1) },
  )
  stream.write(Buffer.from('<root>'))
  const chunk = Buffer.from(`<item>${'x'.repeat(65_536)}</item>`.repeat(8))
  const before = heldBytes()
  let fed = 0
  const feed = (upTo: number) => {
    for (; fed < upTo; fed += chunk.length) stream.write(chunk)
  }
  feed(200 << 20)
  expect(heldBytes() - before).toBeLessThan(8 << 20)
  expect(() => feed(10 * 1024 ** 3)).toThrow('longer than')
  expect(fed).toBeLessThanOrEqual(256 << 20)
  expect(count).toBeGreaterThan(3_000)
})

test.each([
  ['nothing', ''],
  ['no XML', '{"value": 1}'],
  ['half a document', '<a><b>1</b>'],
  ['crossed elements', '<a><b></a></b>'],
  ['two documents', '<a/><a/>'],
  ['a second attribute of the same name', '<a x="1" x="2"/>'],
  ['another encoding', '<?xml version="1.0" encoding="UTF-16"?><a/>'],
])('%s is refused', (_what, text) => {
  expect(refused([text])).not.toBe('')
})

test('a refusal tells nothing of the document', () => {
  expect(refused(['<a>secret</a-secret>'])).not.toContain('secret')
  expect(refused(['<secret>&secret;</secret>'])).not.toContain('secret')
})

test('items are handed over as they end, and are not in what remains', () => {
  const limits = { totalBytes: 1 << 20, depth: 8, itemBytes: 1 << 20 }
  const seen: string[] = []
  const stream = new XmlStream(limits, {
    name: 'item',
    depth: 1,
    each: (one) => seen.push(textOf(one, 'id')),
  })
  stream.write(Buffer.from('<root><item><id>1</id></item><other/><item><id>2'))
  expect(seen).toEqual(['1'])
  stream.write(Buffer.from('</id></item><token>t</token></root>'))
  expect(seen).toEqual(['1', '2'])
  expect(stream.end().children.map(({ name }) => name)).toEqual(['other', 'token'])
})
