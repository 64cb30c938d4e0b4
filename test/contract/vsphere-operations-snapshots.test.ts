import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { startSoapProxy } from '../support/soap-proxy.ts'
import {
  anyCall,
  callNamed,
  makeMachine,
  openTestVsphere,
  portsOf,
  startVsphere,
} from '../support/vsphere-machines.ts'

const { vcsim, ports } = await startVsphere()
const { machines } = ports

const snapshot = (snapshotName: string) => ({ snapshotName, memory: false, quiesce: false })
const treeOf = async (machine: string) => {
  const tree = await machines.snapshots(anyCall(), machine)
  if (!tree.found) throw new Error(`${machine} is gone.`)
  return tree.value
}
const make = async (machine: string, name: string) =>
  (await machines.createSnapshot(anyCall(), machine, snapshot(name))).wait(anyCall())

test('snapshots make a tree, a revert moves in it, and one that goes leaves its children', async () => {
  const machine = await makeMachine(ports)
  expect(await treeOf(machine)).toEqual([])
  const first = await make(machine, 'first')
  const second = await make(machine, 'second <&>')
  await (await machines.revertToSnapshot(anyCall(), machine, String(first))).wait(anyCall())
  const third = await make(machine, 'third')
  expect(await treeOf(machine)).toEqual([
    { ref: first, name: 'first', parent: null },
    { ref: second, name: 'second <&>', parent: first },
    { ref: third, name: 'third', parent: first },
  ])
  await (await machines.removeSnapshot(anyCall(), machine, String(first))).wait(anyCall())
  expect((await treeOf(machine)).map(({ ref, parent }) => ({ ref, parent }))).toEqual([
    { ref: second, parent: null },
    { ref: third, parent: null },
  ])
})

test('a snapshot whose answer was lost is found by the name of its call and made once', async () => {
  const machine = await makeMachine(ports)
  const proxy = await startSoapProxy(vcsim.url)
  const behind = portsOf(openTestVsphere(vcsim, proxy.url)).machines
  const call = callNamed(`snapshot-${randomUUID()}`)
  proxy.loseAnswer('CreateSnapshot_Task')
  await expect(behind.createSnapshot(call, machine, snapshot('kept'))).rejects.toMatchObject({
    failure: 'unknown',
  })
  const [made] = await treeOf(machine)
  const found = await machines.findTask(anyCall(), { name: call.name, machine })
  expect(found.found && (await found.value.wait(anyCall()))).toBe(made?.ref)
  const again = await behind.createSnapshot(call, machine, snapshot('kept'))
  expect(await again.wait(anyCall())).toBe(made?.ref)
  expect(await treeOf(machine)).toHaveLength(1)
})

test('a snapshot of another machine, or of none, is absent', async () => {
  const machine = await makeMachine(ports)
  const foreign = String(await make(await makeMachine(ports), 'foreign'))
  for (const ref of [foreign, 'snapshot-9999'])
    for (const verb of ['revertToSnapshot', 'removeSnapshot'] as const)
      await expect(machines[verb](anyCall(), machine, ref)).rejects.toMatchObject({ failure: 'absent' })
  expect(await machines.snapshots(anyCall(), 'vm-9999')).toEqual({ found: false })
})
