import { expect, test } from 'vitest'
import { checkPlacementScript, runScript } from '../../../src/migration/place/script-runner.ts'
import type { ScriptAsk } from '../../../src/migration/place/script-types.ts'
import { CpuPool } from '../../../workers/cpu-pool.ts'
import { atEnd } from '../../support/cleanup.ts'
import { settles } from '../../support/wait.ts'

const cpu = new CpuPool()
atEnd(() => cpu.close())
const never = new AbortController().signal

const askFor = (name: string): ScriptAsk => ({ instance: JSON.stringify({ name }), disks: [], nics: [] })
const asks = (count: number): ScriptAsk[] => Array.from({ length: count }, (_, at) => askFor(`vm-${at}`))

const run = (script: string, of: readonly ScriptAsk[], signal = never) =>
  settles(runScript(cpu, { script, batch: '{}', asks: of, signal }), {
    what: 'the script to be done with',
    withinMs: 60_000,
  })

test('many instances are answered in their order, by several threads', async () => {
  const answers = await run('function placement({ name }) { setTarget(name) }', asks(1_200))
  expect(answers.map((answer) => answer.ok && answer.placement.target)).toEqual(
    asks(1_200).map((_, at) => `vm-${at}`),
  )
})

test('an instance that loops fails alone', async () => {
  const answers = await run(
    'function placement({ name }) { if (name === "vm-3") for (;;); setTarget("cloud") }',
    asks(8),
  )
  expect(answers.map(({ ok }) => ok)).toEqual([true, true, true, false, true, true, true, true])
})

test('what the interpreter cannot be stopped in costs its thread, and only its own instance', async () => {
  const answers = await run(
    `function placement({ name }) {
      if (name === 'vm-2') Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)
      setTarget(name)
    }`,
    asks(5),
  )
  expect(answers.map((answer) => (answer.ok ? answer.placement.target : answer.problem.message))).toEqual([
    'vm-0',
    'vm-1',
    'It was stuck in one call of the interpreter and was stopped.',
    'vm-3',
    'vm-4',
  ])
})

test('this process goes on while a script keeps a thread busy, and whoever is stopped does not wait for it', async () => {
  const stop = new AbortController()
  const stuck = 'function placement() { Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1) }'
  const running = run(stuck, asks(1), stop.signal)
  await run('function placement() {}', asks(1))
  stop.abort(new Error('called off'))
  await expect(running).rejects.toThrow('called off')
})

test('a script is checked before it is stored: place, code and field are told', async () => {
  const check = (script: string) => checkPlacementScript(cpu, script, never)
  await check('')
  await check('const placement = () => {}')
  await expect(check('function placement() {\n  let = =\n}')).rejects.toMatchObject({
    code: 'placement-script-invalid',
    field: 'config.placement_scriptlet',
    detail: { line: 2, column: expect.any(Number) },
    message: expect.stringContaining('line 2'),
  })
  await expect(check('function elsewhere() {}')).rejects.toThrow('There is no function placement')
  await expect(check('for (;;);')).rejects.toThrow('was stopped')
  await expect(check('[].indexOf.call({ length: 2 ** 53 - 1 }, 1)')).rejects.toThrow('was stopped')
})
