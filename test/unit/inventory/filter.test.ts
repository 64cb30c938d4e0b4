import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileFilter } from '../../../src/domain/filter/compile-filter.ts'
import { filterFields } from '../../../src/domain/filter/fields.ts'
import { FilterError } from '../../../src/domain/filter/filter-error.ts'
import { allowedFunctions, maxFilterLength, pathBase, pathDir } from '../../../src/domain/filter/language.ts'
import { instanceView, networkView } from '../../../src/domain/filter/view.ts'
import { readSource } from '../repository/sources.ts'
import { effective, sampleDisk, sampleNetwork, sampleNic } from './samples.ts'

const facts = effective({
  disks: [
    sampleDisk(),
    sampleDisk({
      key: '2001',
      name: '[hdd] web-01/data.vmdk',
      capacity: 2 ** 41,
      used: null,
      datastore: 'hdd',
    }),
    sampleDisk({ key: '2002', name: '[hdd] web-01/old.vmdk', mode: 'independent' }),
  ],
  nics: [sampleNic(), sampleNic({ key: '4001', connected: false, ipv4_addresses: [] })],
  tags: { env: ['prod'], team: ['shop', 'web'], '': ['loose'] },
  attributes: { owner: 'ada', constructor: 'x' },
})
const input = { facts, source: 'paris', source_kind: 'lab', readiness: 'warning', findings: ['tpm'] }
const instance = instanceView(input)
const network = networkView({ facts: sampleNetwork({ vlan: '12' }), source: 'paris', source_kind: 'lab' })

const run = (text: string) => compileFilter(text, 'instance').run(instance)

const refusal = (text: string, kind: 'instance' | 'network' = 'instance'): FilterError => {
  try {
    compileFilter(text, kind)
  } catch (error) {
    if (error instanceof FilterError) return error
    throw error
  }
  throw new Error(`"${text}" was accepted`)
}

test.each([
  // Every shape that the reference's documentation shows, in this language.
  ['location.matches("^/Paris/vm/.*")', true],
  ['location.matches("^/London/.*")', false],
  ['location.startsWith("/Paris/vm/shop/") && (cpus > 1 || memory > 8589934592)', true],
  ['size(disks) > 2', true],
  ['disks.filter(d, d.name.matches("vmdk$")).size() > 3', false],
  ['disks[0].supported', true],
  ['disks[2].supported', false],
  ['location.endsWith("01") && background_import && !secure_boot', true],
  ['os.startsWith("Windows")', false],
  ['path_base(location) == "web-01" && source == "paris"', true],
  ['path_dir(location) == "/Paris/vm/shop"', true],
  ['resource_pool == "gold"', true],
  ['uuid == "5029aaaa-1111-2222-3333-444455556666"', true],
  ['nics[0].mac == "00:50:56:aa:00:01"', true],
  ['name in ["web-01", "web-02"]', true],
  ['disks.exists(d, d.capacity > 1099511627776)', true],
  ['disks.all(d, d.datastore == "ssd")', false],
  ['disks.exists_one(d, d.mode == "independent")', true],
  ['disks.map(d, d.datastore).exists(s, s == "hdd")', true],
  ['nics.exists(n, n.ipv4_addresses.exists(a, a.startsWith("10.1.")))', true],
  ['disks.exists(d, !has(d.used))', true],
  ['has_tag("env", "prod")', true],
  ['has_tag("env", "pro")', false],
  ['has_tag("*", "web")', true],
  ['has_tag("*", "shop,web")', false],
  ['matches_tag("env", "pro")', true],
  ['matches_tag("*", "oos")', true],
  ['has_tag("constructor", "name")', false],
  ['"env" in tags && "prod" in tags["env"]', true],
  ['attributes["owner"] == "ada"', true],
  ['attributes.owner == "ada" && !has(attributes.nobody)', true],
  ['attributes["constructor"] == "x"', true],
  ['os_type == "linux" && distribution == "ubuntu" && distribution_version == "22.04"', true],
  ['guest.hostname.lowerAscii().contains("shop.example")', true],
  ['readiness != "blocked" && "tpm" in findings', true],
  ['source_kind == "lab" && power_state == "on" && running', true],
  ['true', true],
  ['cpus == 2 ? name == "web-01" : false', true],
  ['(name + "/" + source).matches("^web-[0-9]+/paris$")', true],
] as const)('%s is %s', (text, match) => expect(run(text)).toEqual({ match }))

test('networks have fields of their own', () => {
  const ask = (text: string) => compileFilter(text, 'network').run(network)
  expect(ask('type == "standard" && vlan == "12" && path_base(location) == "shop front"')).toEqual({
    match: true,
  })
  expect(refusal('cpus > 2', 'network').message).toContain('There is no field "cpus"')
  expect(refusal('has_tag("a", "b")', 'network').message).toContain('There is no function "has_tag"')
  expect(() => compileFilter('true', 'network').run(instance)).toThrow(/over networks/)
})

test.each([
  ['disks[7].name == "x"', /index out of bounds/],
  ['disks.all(d, d.used > 0)', /No such key: used/],
  ['attributes["nobody"] == "x"', /No such key: nobody/],
  ['cpus / 0 == 1', /zero/],
  ['timestamp(name) < timestamp("2026-01-01T00:00:00Z")', /timestamp/],
])('%s fails on this instance only, as a value', (text, reason) => {
  expect(run(text)).toEqual({ error: expect.stringMatching(reason) })
  // The next one asked is not touched by it.
  const other = instanceView({ ...input, facts: { ...facts, cpus: 0, disks: [] } })
  expect(compileFilter('cpus == 0', 'instance').run(other)).toEqual({ match: true })
})

describe('a filter that cannot be used says where and what to write', () => {
  test.each([
    ['nam == "a"', 1, 1, /no field "nam"/, /Did you mean name\?/],
    ['cpus > 2 && memry > 4', 1, 13, /no field "memry"/, /Did you mean memory\?/],
    ['disks[0].capacty > 1', 1, 10, /no field "capacty"/, /Did you mean capacity\?/],
    ['has_tg("a", "b")', 1, 1, /no function "has_tg"/, /Did you mean has_tag\?/],
    ['name.startWith("a")', 1, 5, /no function "startWith"/, /Did you mean startsWith\?/],
    ['name = "a"', 1, 6, /Two "=" compare/, /filters\.md/],
    ['name == "a" & running', 1, 13, /single "&"/, /filters\.md/],
    ['name == "a" and running', 1, 13, /"and" is no word/, /Write &&/],
    ['running &&\n  (cpus > 2', 2, 12, /the end stands where "\)" should/, /filters\.md/],
    ['name ==', 1, 8, /a value should/, /filters\.md/],
    ['name == "a', 1, 9, /Unterminated/, /filters\.md/],
    ['"🙂🙂" == "x" && nam == "a"', 1, 16, /no field "nam"/, /name/],
    ['cpus == "4"', 1, 1, /cannot go together: int == string/, /numbers with numbers/],
    ['cpus', 1, 1, /true or false; this one is a int/, /Compare it/],
    ['size(disks)', 1, 1, /this one is a int/, /Compare it/],
    ['web-01', 1, 1, /no field "web"/, /name\.contains\("web-01"\)/],
    ['/Paris/vm/shop', 1, 1, /a value should/, /location\.startsWith\("\/Paris\/vm\/shop"\)/],
    ['web*', 1, 5, /a value should/, /name\.contains\("web"\)/],
    ['', 1, 1, /empty/, /leave the filter out/],
    ['name.matches("(a")', 1, 14, /pattern is none: missing closing/, /RE2/],
    ['name.matches("a(?=b)")', 1, 14, /pattern is none/, /no look-ahead/],
    ['name.matches(location)', 1, 14, /written out as text/, /contains/],
    ['os_type == "Windows"', 1, 12, /os_type is never "Windows"/, /Did you mean "windows"\?/],
    ['"running" == power_state', 1, 1, /power_state is never "running"/, /one of on, off, suspended/],
    ['readiness in ["ready", "blokced"]', 1, 24, /never "blokced"/, /Did you mean "blocked"\?/],
    ['!("disk-shraed" in findings)', 1, 3, /findings is never/, /Did you mean "disk-shared"\?/],
    ['name == "\0"', 1, 10, /character that is none/, /Remove/],
  ])('%s', (text, line, column, message, remedy) => {
    const error = refusal(text)
    expect(error).toMatchObject({ line, column })
    expect(error.message).toMatch(message)
    expect(error.remedy).toMatch(remedy)
    const [shown = '', caret = ''] = error.pointer.split('\n')
    expect(caret.trim()).toBe('^')
    expect(shown).toBe(text.split('\n')[line - 1])
  })

  test('a long line is shown around the character', () => {
    const error = refusal(`${'name == "a" || '.repeat(50)}nam == "b"`)
    expect(error.position).toBe(50 * 15)
    const [line = '', caret = ''] = error.pointer.split('\n')
    expect(line.length).toBeLessThanOrEqual(100)
    expect(line.slice(caret.length - 1)).toMatch(/^nam ==/)
  })
})

describe('hostile filters', () => {
  test.each([
    ['too long', `name == "${'a'.repeat(maxFilterLength)}"`],
    ['nested too deep', `${'('.repeat(200)}true${')'.repeat(200)}`],
    ['too many negations', `${'!'.repeat(4_000)}true`],
    ['too many items', `name in [${'"a",'.repeat(900)}"b"]`],
    ['three lists inside each other', 'disks.all(a, disks.all(b, disks.all(c, a == b || b == c)))'],
    ['values that double', 'cel.bind(a, name + name, cel.bind(b, a + a, b == a))'],
    ['lists made of texts', 'description.split("").all(a, a == "b")'],
    ['no types', 'dyn(cpus) == "a"'],
    ['a way into objects', 'disks[0].constructor == "x"'],
    ['a way into prototypes', 'name.__proto__ == "x"'],
    ['a huge pattern', 'name.matches("a{1000}|b{1000}|c{1000}")'],
    ['a pattern of many', `name.matches("${'\\\\pL{900}'.repeat(10)}")`],
    ['a long pattern', `name.matches("${'a'.repeat(600)}")`],
    ['many patterns', Array.from({ length: 40 }, (_, n) => `name.matches("${n}")`).join('||')],
    ['a comment in the way', 'name // .matches(\n.matches("a")'],
  ])('%s is refused', (_what, text) => {
    expect(refusal(text)).toBeInstanceOf(FilterError)
  })

  test('a pattern that makes others hang is answered at once', () => {
    const view = instanceView({ ...input, facts: { ...facts, name: `${'a'.repeat(5_000)}!` } })
    for (const pattern of ['(a+)+$', '(a|a)*b', '(.*a){12}$', '(a|aa)+$', '^(([a-z])+.)+[A-Z]([a-z])+$'])
      expect(compileFilter(`name.matches(${JSON.stringify(pattern)})`, 'instance').run(view)).toEqual({
        match: false,
      })
  })

  test('two lists inside each other are fine, but not when both are enormous', () => {
    const text = 'disks.all(a, disks.all(b, a.key == b.key || a.key != b.key))'
    expect(run(text)).toEqual({ match: true })
    const disks = Array.from({ length: 1_024 }, (_, index) =>
      sampleDisk({ key: `${index}`, name: 'x'.repeat(2_000) }),
    )
    const huge = instanceView({ ...input, facts: { ...facts, disks } })
    expect(compileFilter(text, 'instance').run(huge)).toEqual({ error: expect.stringContaining('too long') })
    expect(compileFilter('disks.all(a, a.capacity > 1)', 'instance').run(huge)).toEqual({ match: true })
  })

  test('whatever is written, the answer is a filter or a place in the text', () => {
    const word = fc.constantFrom(
      ...[
        'name',
        'disks',
        'tags',
        '"a"',
        '1',
        '1.5',
        '==',
        '&&',
        '||',
        '!',
        '(',
        ')',
        '[',
        ']',
        '.',
        ',',
        'all',
        'd',
      ],
      ...[
        'matches',
        'size',
        'in',
        '?',
        ':',
        '{',
        '}',
        '+',
        '-',
        'has',
        'null',
        'exists',
        'x',
        '\n',
        '//',
        "'",
        '\\',
      ],
    )
    const text = fc.oneof(
      fc.array(word, { maxLength: 14 }).map((words) => words.join(' ')),
      fc.string({ unit: 'binary', maxLength: 60 }),
    )
    fc.assert(
      fc.property(text, (source) => {
        try {
          const outcome = compileFilter(source, 'instance').run(instance)
          expect('match' in outcome ? typeof outcome.match : typeof outcome.error).toMatch(/boolean|string/)
        } catch (error) {
          expect(error).toBeInstanceOf(FilterError)
          const { position, line, column, message, remedy } = error as FilterError
          expect(position).toBeLessThanOrEqual(source.length)
          expect(line).toBe(source.slice(0, position).split('\n').length)
          expect(column).toBeGreaterThan(0)
          expect(message.length + remedy.length).toBeGreaterThan(10)
        }
      }),
      { numRuns: 2_000 },
    )
  })
})

test('a text compares the same in the language as in JavaScript', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), fc.string({ maxLength: 4 }), (name, part) => {
      const view = instanceView({ ...input, facts: { ...facts, name } })
      const ask = (text: string) => compileFilter(text, 'instance').run(view)
      expect(ask(`name.contains(${JSON.stringify(part)})`)).toEqual({ match: name.includes(part) })
      expect(ask(`name == ${JSON.stringify(name)}`)).toEqual({ match: true })
    }),
  )
})

test('paths are taken apart as people expect', () => {
  expect(['/a/b', '/a', '/', 'a', '/a/b/', '', 'a/b'].map(pathBase)).toEqual([
    'b',
    'a',
    '/',
    'a',
    'b',
    '',
    'b',
  ])
  expect(['/a/b', '/a', '/', 'a', '/a/b/', '', 'a/b'].map(pathDir)).toEqual([
    '/a',
    '/',
    '/',
    '.',
    '/a',
    '.',
    'a',
  ])
})

test('docs/filters.md names every field and every function', () => {
  const text = readSource('docs/filters.md')
  const rows = [...text.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1])
  expect(rows).toEqual(
    expect.arrayContaining(Object.values(filterFields).flatMap((fields) => Object.keys(fields))),
  )
  for (const name of allowedFunctions) expect(text).toMatch(new RegExp(`\\b${name}\\(`))
})

test('every example of docs/filters.md is a filter', () => {
  const blocks = [...readSource('docs/filters.md').matchAll(/```cel\n([\s\S]*?)```/g)]
  const examples = blocks.flatMap((block) => (block[1] ?? '').split('\n').filter((line) => line !== ''))
  expect(examples.length).toBeGreaterThan(10)
  for (const example of examples) expect(run(example)).toHaveProperty('match')
})
