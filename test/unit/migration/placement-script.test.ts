import { expect, test } from 'vitest'
import { scriptLimits } from '../../../src/migration/place/script-limits.ts'
import { ScriptMachine } from '../../../src/migration/place/script-machine.ts'
import type { ScriptAnswer, ScriptAsk } from '../../../src/migration/place/script-types.ts'
import { askAbout } from '../../../src/migration/place/script-view.ts'
import { effective, sampleDisk } from '../inventory/samples.ts'
import { readSource } from '../repository/sources.ts'

const ask: ScriptAsk = {
  instance: JSON.stringify({
    name: 'web-01',
    disks: [{ key: '2000', label: 'Hard disk 1' }],
    nics: [{ mac: '02:00:00:00:00:01' }],
    attributes: { owner: 'payments' },
  }),
  disks: [
    { key: '2000', label: 'Hard disk 1', name: '[fast] web-01/web-01.vmdk', neverCopied: null },
    { key: '2001', label: 'Hard disk 2', name: '[fast] web-01/shared.vmdk', neverCopied: 'maps a LUN' },
  ],
  nics: [{ mac: '02:00:00:00:00:01', key: '4000', label: 'Network adapter 1' }],
}
const batch = JSON.stringify({ name: 'wave-1', windows: [{ name: 'night' }] })

let last: { script: string; machine: ScriptMachine } | undefined

/** One run: a script that was read before is not read again. */
const run = async (script: string): Promise<ScriptAnswer> => {
  if (last?.script !== script || last.machine.isSpent)
    last = { script, machine: await ScriptMachine.open(script, batch) }
  return last.machine.place(ask)
}

const body = (lines: string): Promise<ScriptAnswer> =>
  run(`function placement(instance, batch) {\n${lines}\n}`)

const problemOf = (answer: ScriptAnswer) => (answer.ok ? undefined : answer.problem)

test('a script sets target, project, pools and networks, and its log is kept', async () => {
  const answer = await body(`
    if (batch.windows[0].name === 'night') setTarget('cloud')
    setProject('shop')
    for (const disk of instance.disks) setPool(disk.key, 'ceph')
    setNetwork('02-00-00-00-00-01', 'bridge-shop', 'bridged', 20)
    log('placed', instance.name, instance.attributes, [1, null], undefined, true)`)
  expect(answer).toEqual({
    ok: true,
    placement: {
      target: 'cloud',
      project: 'shop',
      pools: { '2000': 'ceph' },
      networks: { '02:00:00:00:00:01': { network: 'bridge-shop', nictype: 'bridged', vlan_id: '20' } },
    },
    log: ['placed web-01 {"owner":"payments"} [1,null] undefined true'],
  })
})

test('spaces around the parts of a VLAN list are no part of it', async () => {
  const answer = await body(`setNetwork('02:00:00:00:00:01', 'x', 'bridged', ' 100, 200-210 ')`)
  expect(answer).toMatchObject({
    ok: true,
    placement: { networks: { '02:00:00:00:00:01': { vlan_id: '100,200-210' } } },
  })
})

test('the names of the calls in other tools mean the same', async () => {
  const answer = await body(`
    set_target('cloud'); set_project('shop'); set_pool('Hard disk 1', 'ceph')
    set_network('02:00:00:00:00:01', 'overlay', '', '')
    log_info('a'); log_warn('b'); log_error('c')`)
  expect(answer).toEqual({
    ok: true,
    placement: {
      target: 'cloud',
      project: 'shop',
      pools: { '2000': 'ceph' },
      networks: { '02:00:00:00:00:01': { network: 'overlay', nictype: 'managed', vlan_id: '' } },
    },
    log: ['a', 'warning: b', 'error: c'],
  })
})

test('a function that is a constant is found, and the last word of a call counts', async () => {
  const answer = await run('const placement = ({ name }) => { setTarget(name); setTarget("b") }')
  expect(answer).toMatchObject({ ok: true, placement: { target: 'b' } })
})

test.each([
  ['setTarget(3)', 'setTarget: the target must be a text, not a number.'],
  ['setTarget()', 'setTarget: the target must be a text, not nothing.'],
  ['set_target(null)', 'set_target: the target must be a text, not nothing.'],
  ['setTarget({ toString: () => "cloud" })', 'setTarget: the target must be a text, not an object.'],
  ['setTarget(Symbol("x"))', 'setTarget: the target must be a text, not a symbol.'],
  ['setProject("no spaces")', 'setProject: "no spaces" is no name for the project'],
  ['setPool("Hard disk 9", "ceph")', 'setPool: the instance has no disk "Hard disk 9"; it has "Hard disk 1"'],
  ['setPool("Hard disk 2", "ceph")', 'setPool: the disk "Hard disk 2" maps a LUN: it cannot be copied'],
  ['setPool("2000", "")', 'setPool: "" is no name for the pool'],
  ['setNetwork("02:00:00:00:00:09", "x")', 'setNetwork: the instance has no NIC "02:00:00:00:00:09"'],
  ['setNetwork("02:00:00:00:00:01", "x", "odd")', 'setNetwork: the kind of NIC is not right. Use one of'],
  ['setNetwork("02:00:00:00:00:01", "x", "managed", 7)', 'setNetwork: the VLAN "7" is not right.'],
  ['setNetwork("02:00:00:00:00:01", "x", "bridged", 0)', 'setNetwork: the VLAN "0" is not right.'],
  ['setNetwork("02:00:00:00:00:01", "x", "bridged", 1.5)', 'setNetwork: the VLAN "1.5" is not right.'],
  ['setNetwork("02:00:00:00:00:01", "x", "bridged", "3 0 1")', 'setNetwork: the VLAN "3 0 1" is not right.'],
  [
    'setNetwork("02:00:00:00:00:01", "x", "bridged", "1 00,20")',
    'setNetwork: the VLAN "1 00,20" is not right.',
  ],
  [
    'setNetwork("02:00:00:00:00:01", "x", "bridged", "10 - 20")',
    'setNetwork: the VLAN "10 - 20" is not right.',
  ],
  ['setNetwork("02:00:00:00:00:01", "../x")', 'setNetwork: the network is not right.'],
])('%s is refused by name and line', async (call, message) => {
  const problem = problemOf(await body(`\n  ${call}`))
  expect(problem).toMatchObject({ message: expect.stringContaining(`TypeError: ${message}`), line: 3 })
})

test.each([
  ['an exception', 'function placement() {\n  null.x\n}', /^TypeError: /, 2],
  ['a thrown text', 'function placement() { throw "enough" }', /^enough$/, null],
  ['a syntax error', 'function placement(instance {\n}', /^SyntaxError: /, 1],
  ['an error in its first lines', 'nothing.here\nfunction placement() {}', /^ReferenceError: /, 1],
  ['no function', 'let other = 1', /no function placement/, null],
  ['a function of another kind', 'var placement = 3', /no function placement/, null],
  ['an answer', 'function placement() { return "cloud" }', /must return nothing.*a string/, null],
  ['an async function', 'async function placement() {}', /cannot be async/, null],
  ['a change of the instance', 'function placement(i) { "use strict"; i.name = "x" }', /read-only/, 1],
  ['a change deep in it', 'function placement(i) { i.disks.push(1) }', /not extensible/, 1],
  ['a change of the batch', 'function placement(i, b) { b.windows[0].name = 1 }', /read-only/, 1],
  ['the clock', 'function placement() { Date.now() }', /Date is not defined/, 1],
  ['chance', 'function placement() { Math.random() }', /Math\.random is not there/, 1],
])('%s is told', async (_what, script, message, line) => {
  const problem = problemOf(await run(script))
  expect(problem?.message).toMatch(message)
  expect(problem?.line).toBe(line)
})

test('nothing of the process around it can be reached', async () => {
  const answer = await body(`
    const all = log.constructor('return this')()
    const names = ['process', 'require', 'module', 'fetch', 'console', 'performance', 'Date', 'Proxy', 'WebAssembly',
      'SharedArrayBuffer', 'Atomics', 'ArrayBuffer', 'setTimeout', 'queueMicrotask', 'host', 'std', 'os', 'Intl']
    log(all === globalThis, names.filter((name) => name in all).join())
    try { setTarget({}) } catch (error) { log(error.stack) }`)
  expect(answer.log[0]).toBe('true ')
  expect(answer.log[1]).toContain('placement.js')
  expect(answer.log.join('\n')).not.toMatch(/node|\.ts|file:/)
})

test('no run sees what another one left, and each sees the first lines anew', async () => {
  const script = `
    const list = []; let count = 0
    function placement(instance) {
      log(list.length, count, typeof left, ({}).left, typeof [].push, Object.isFrozen(instance), 'abc'.slice(1))
      list.push(1); count += 1; globalThis.left = 1; Object.prototype.left = 1; Array.prototype.push = 1
      JSON.parse = null; Object.freeze = (x) => x; String.prototype.slice = () => 'owned'
    }`
  for (let at = 0; at < 3; at += 1)
    expect((await run(script)).log).toEqual(['0 0 undefined undefined function true bc'])
})

test('a run that was cut short leaves nothing for the next', async () => {
  const script = `let runs = 0
    function placement() { runs += 1; log(runs); for (;;) globalThis['x' + runs++] = [runs] }`
  for (let at = 0; at < 3; at += 1) expect(await run(script)).toMatchObject({ ok: false, log: ['1'] })
  expect(last?.machine.isSpent).toBe(false)
})

test('a script that changes what it can change spoils only itself', async () => {
  const answer = await run(`
    JSON.parse = JSON.stringify = null
    Object.prototype.toString = Array.prototype[Symbol.iterator] = null
    String.prototype.slice = () => 'owned'
    Object.defineProperty(Object.prototype, 'target', { get() { throw 1 }, set() { throw 1 } })
    function placement(instance) { setTarget('cloud'); log({ a: 1 }, 'x') }`)
  expect(answer).toMatchObject({ ok: true, placement: { target: 'cloud' }, log: ['{"a":1} x'] })
})

test.each([
  ['an endless loop', 'for (;;);'],
  ['an endless loop that catches', 'for (;;) { try { for (;;); } catch {} }'],
  ['a finally that goes on', 'try { for (;;); } finally { for (;;); }'],
  ['a backtracking pattern', '/^(a+)+$/.test("a".repeat(60) + "b")'],
  ['an endless getter in what it throws', 'throw { get message() { for (;;); } }'],
  ['a trace that never ends', 'Error.prepareStackTrace = () => { for (;;); }; null.x'],
  ['an endless toJSON', 'log({ toJSON() { for (;;); } })'],
  ['an endless sort', '[3, 2, 1].sort(() => { for (;;); })'],
  ['logs without end', 'const text = "x".repeat(2 ** 20); for (;;) log(text)'],
])('%s is stopped', async (_what, lines) => {
  expect(problemOf(await body(lines))?.message).toMatch(/was stopped/)
  expect((await body('setTarget("next")')).ok).toBe(true)
})

test.each([
  ['doubling a list', 'let a = ["x"]; for (;;) a = a.concat(a)'],
  [
    'a long text',
    'let s = "xxxxxxxxxxxxxxxx"; const all = []; for (;;) { s = s + s; all.push(s.toUpperCase()) }',
  ],
  ['a deep text', 'JSON.parse("[".repeat(2 ** 24))'],
])('%s ends at a limit, and costs nobody else', async (_what, lines) => {
  expect(problemOf(await body(lines))?.message).toMatch(/was stopped|stack|broke the interpreter/)
  expect((await body('setTarget("next")')).ok).toBe(true)
})

test('deep recursion is an error of the script, with its line', async () => {
  expect(problemOf(await body('const deeper = () => deeper()\ndeeper()'))).toMatchObject({
    message: expect.stringContaining('Maximum call stack'),
    line: 2,
  })
  expect(problemOf(await body('const deeper = () => [1].map(deeper)\ndeeper()'))?.message).toContain('stack')
})

test('what it throws may be anything', async () => {
  for (const thrown of ['null', 'undefined', '1n', '() => 1', '{ get message() { throw 1 } }', '[]'])
    expect(problemOf(await body(`throw ${thrown}`))?.message).toMatch(/^(It threw|\S)/)
})

test('logs are cut to a bound, by lines and by length, and hold no control characters', async () => {
  const answer = await body('for (let at = 0; at < 300; at += 1) log("x".repeat(5_000))')
  expect(answer.log).toHaveLength(scriptLimits.logLines + 1)
  expect(answer.log[0]).toHaveLength(scriptLimits.logLineChars + 1)
  expect(answer.log.at(-1)).toBe('(200 more lines were left out)')
  expect((await body(String.raw`log("a\nb\u0001c\ud800")`)).log[0]).toMatch(/^a b c\ufffd+$/)
})

test('work that is put off is never done', async () => {
  const script = `async function later() { setTarget('no') }
    function placement() { Promise.resolve().then(() => setTarget('no')); later.name }`
  for (let at = 0; at < 50; at += 1)
    expect(await run(script)).toEqual({ ok: true, placement: { pools: {}, networks: {} }, log: [] })
})

test('a thousand runs come out alike, although each leaves memory behind', async () => {
  const script = 'function placement() { globalThis.all = new Array(100_000).fill(log); log("done") }'
  for (let at = 0; at < 1_000; at += 1) expect(await run(script)).toMatchObject({ ok: true, log: ['done'] })
})

test('a call outside of placement is refused', async () => {
  expect(problemOf(await run('setTarget("cloud")\nfunction placement() {}'))).toMatchObject({
    message: 'TypeError: setTarget can only be called while placement runs.',
    line: 1,
  })
})

test('a check finds syntax, first lines and a missing function, with the place', async () => {
  const check = async (script: string) => (await ScriptMachine.open(script, '{}')).problem
  expect(await check('function placement(instance, batch) { anything.goes }')).toBeUndefined()
  expect(await check('function placement() {\n  const = 3\n}')).toMatchObject({ line: 2, column: 9 })
  expect(await check('function place() {}')).toMatchObject({ message: expect.stringContaining('placement') })
  expect(await check('for (;;); function placement() {}')).toMatchObject({
    message: expect.stringContaining('was stopped'),
  })
})

/** What a script is asked about an instance with a disk of each way to be copied. */
const askOfEach = (): ScriptAsk =>
  askAbout(
    effective({
      tags: { tier: ['db'] },
      disks: [
        sampleDisk(),
        sampleDisk({ key: '2001', label: 'Hard disk 2', mode: 'independent' }),
        sampleDisk({ key: '2002', label: 'Hard disk 3', shared: true }),
      ],
    }),
    { id: 'an-id', overrides: {} },
    { name: 'paris', kind: 'lab' },
  )

test('a script sees of a disk what a filter sees', async () => {
  const script = `function placement({ disks }) {
    log(disks.map(({ key, supported, copied }) => [key, supported, copied]))
  }`
  const machine = await ScriptMachine.open(script, batch)
  expect(machine.place(askOfEach())).toMatchObject({
    ok: true,
    log: ['[["2000",true,"while-running"],["2001",false,"while-off"],["2002",false,"never"]]'],
  })
})

test('the example of docs/placement.md runs exactly as it is printed', async () => {
  const [, example = ''] = /```js\n(.*?)```/s.exec(readSource('docs/placement.md')) ?? []
  const machine = await ScriptMachine.open(example, batch)
  expect(machine.place(askOfEach())).toEqual({
    ok: true,
    placement: {
      project: 'databases',
      pools: { 2000: 'nvme', 2001: 'nvme' },
      networks: { '00:50:56:aa:00:01': { network: 'bridge-shop', nictype: 'bridged', vlan_id: '10' } },
    },
    log: ['web-01 is db'],
  })
})
