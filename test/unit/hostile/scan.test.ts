import { expect, test } from 'vitest'
import { codeFiles, readSource, withoutComments } from '../repository/sources.ts'

/** By its name, wherever its room is; a name that no file has is shown as it is. */
const ofVsphere = (name: string): string =>
  codeFiles.find((path) => path.startsWith('src/platforms/vsphere/') && path.endsWith(`/${name}.ts`)) ?? name

/**
 * What reads words of a platform, and the test that gives it hostile ones. Whoever adds a reader adds its line, and a
 * test that sends it what a platform that was taken over could.
 */
const tested: Readonly<Record<string, readonly string[]>> = {
  'test/unit/hostile/vsphere-readers.test.ts': [
    ...[
      'instance-devices',
      'instance-disks',
      'instance-facts',
      'instance-guest',
      'instance-nics',
      'inventory-read',
    ],
    ...['inventory-cursor', 'inventory-tree', 'service-content', 'site-facts', 'soap-fault', 'templates-ovf'],
  ].map(ofVsphere),
  'test/contract/hostile-vsphere.test.ts': [
    ...['changed-blocks', 'datastore', 'disks', 'guest', 'instance-tags', 'inventory', 'inventory-changes'],
    ...['inventory-scopes', 'machines', 'machines-attributes', 'machines-compute', 'machines-folder'],
    ...[
      'machines-ownership',
      'machines-placement',
      'machines-reading',
      'machines-spec',
      'odd-answer',
      'power',
    ],
    ...['property-read', 'property-wait', 'session', 'snapshots', 'soap-exchange', 'tasks', 'templates'],
    ...['templates-mark', 'vapi'],
  ].map(ofVsphere),
  'test/contract/vsphere-lease-hosts.test.ts': [
    'nfc-lease',
    'nfc-lease-host',
    'nfc-lease-upload',
    'templates-import',
  ].map(ofVsphere),
  'test/unit/hostile/lab-readers.test.ts': ['lab-answer', 'lab-facts'].map(
    (name) => `src/platforms/lab/${name}.ts`,
  ),
  'test/contract/hostile-lab.test.ts': [
    'lab',
    'lab-disks',
    'lab-guest',
    'lab-inventory',
    'lab-link',
    'lab-tasks',
  ].map((name) => `src/platforms/lab/${name}.ts`),
}

/** Ways to take an answer apart. */
const reads =
  /\b(JSON\.parse|readBoundedJson|textOf|refOf|refsIn|childrenOf|numberOf|flagOf|textAt|parseAnswer|safeParse|link\.(ask|find|send)|http\.request|http\.stream|properties\.get)\b/

const readers = codeFiles.filter(
  (path) => /^src\/platforms\/(vsphere|lab)\//.test(path) && reads.test(withoutComments(readSource(path))),
)

/** Each of these asks in one line, and the shape of its answer is spoilt at every place in the readers' test. */
const throughProtocol = ['hibernate', 'import', 'live-move', 'machines', 'power', 'templates'].map(
  (name) => `src/platforms/lab/lab-${name}.ts`,
)

test('every reader of words of a platform is given hostile ones by a test', () => {
  const known = new Set([...Object.values(tested).flat(), ...throughProtocol])
  expect(readers.filter((path) => !known.has(path))).toEqual([])
})

test('every test and every reader that is named exists', () => {
  const files = new Set(codeFiles)
  const named = [...Object.keys(tested), ...Object.values(tested).flat(), ...throughProtocol]
  expect(named.filter((path) => !files.has(path))).toEqual([])
})

test("every shape of an answer of the lab is spoilt by the readers' test", () => {
  const shapes = [...readSource('src/platforms/lab/protocol.ts').matchAll(/export const (\w+) = z/g)]
    .map(([, name = '']) => name)
    .filter((name) => !/Request$|^wire/.test(name))
  const test = readSource('test/unit/hostile/lab-readers.test.ts')
  expect(shapes.filter((name) => !test.includes(`'${name}'`))).toEqual([])
})

test('nobody but the way to a lease opens an address that an answer names', () => {
  const opening = codeFiles.filter(
    (path) =>
      path.startsWith('src/platforms/') &&
      /\b(openHttp|httpRequest|connectSecure|fetch)\(/.test(withoutComments(readSource(path))),
  )
  expect(opening.sort()).toEqual([
    'src/platforms/http/http-exchange.ts',
    'src/platforms/http/verified-agent.ts',
    'src/platforms/lab/lab-link.ts',
    'src/platforms/vsphere/templates/nfc-lease-host.ts',
    'src/platforms/vsphere/vsphere.ts',
  ])
})

test('labels of metrics are words of ours: nothing that a platform says is one', () => {
  const labels = codeFiles
    .filter((path) => /^(src|workers)\//.test(path))
    .flatMap((path) =>
      [
        ...withoutComments(readSource(path)).matchAll(
          /\b(?:counter|gauge|histogram)\(\s*'[^']*',\s*'[^']*',?\s*\[([^\]]*)\]/g,
        ),
      ].flatMap(([, list = '']) => [...list.matchAll(/'([^']+)'/g)].map(([, label]) => label)),
    )
  expect(labels.length).toBeGreaterThan(5)
  const ours = [
    'kind',
    'outcome',
    'state',
    'reason',
    'stage',
    'method',
    'route',
    'status',
    'class',
    'code',
    'force',
    'ending',
    'door',
  ]
  expect([...new Set(labels)].filter((label) => !ours.includes(label ?? ''))).toEqual([])
})
