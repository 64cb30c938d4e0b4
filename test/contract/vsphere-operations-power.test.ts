import { expect, test } from 'vitest'
import { startSoapProxy } from '../support/soap-proxy.ts'
import {
  anyCall,
  makeMachine,
  openTestVsphere,
  portsOf,
  setSimulated,
  startVsphere,
} from '../support/vsphere-machines.ts'

const { vcsim, ports } = await startVsphere()
const { power } = ports

const stateOf = async (machine: string) => {
  const facts = await power.power(anyCall(), machine)
  if (!facts.found) throw new Error(`${machine} is gone.`)
  return facts.value
}

test('a started machine runs on a host and has a boot id of its own, anew at each start', async () => {
  const machine = await makeMachine(ports)
  expect(await stateOf(machine)).toMatchObject({ state: 'off', boot_id: '' })
  await (await power.start(anyCall(), machine)).wait(anyCall())
  const first = await stateOf(machine)
  expect(first).toMatchObject({ state: 'on', host: expect.stringMatching(/^host-/) })
  expect(first.boot_id).not.toBe('')
  await (await power.restart(anyCall(), machine)).wait(anyCall())
  expect((await stateOf(machine)).boot_id).not.toBe(first.boot_id)
  await (await power.suspend(anyCall(), machine)).wait(anyCall())
  expect((await stateOf(machine)).state).toBe('suspended')
  await (await power.start(anyCall(), machine)).wait(anyCall())
  await (await power.stop(anyCall(), machine)).wait(anyCall())
  expect((await stateOf(machine)).state).toBe('off')
})

test('a verb whose state is reached already, or does not fit, is refused and starts no task', async () => {
  const machine = await makeMachine(ports)
  const refused = { code: 'platform-wrong-state', failure: 'refused' }
  for (const verb of ['stop', 'restart', 'suspend', 'shutdownGuest'] as const)
    await expect(power[verb](anyCall(), machine)).rejects.toMatchObject(refused)
  await (await power.start(anyCall(), machine)).wait(anyCall())
  await expect(power.start(anyCall(), machine)).rejects.toMatchObject(refused)
})

test('two starts at once: one machine runs, and the slower one hears that it does', async () => {
  const machine = await makeMachine(ports)
  const start = async () => (await power.start(anyCall(), machine)).wait(anyCall())
  const ends = await Promise.allSettled([start(), start()])
  const refused = ends.filter((end) => end.status === 'rejected')
  expect(refused).toHaveLength(1)
  expect(refused[0]?.reason).toMatchObject({ code: 'platform-wrong-state', failure: 'refused' })
  expect((await stateOf(machine)).state).toBe('on')
})

test('a machine that is not there is absent in every verb, and a look-up finds nothing', async () => {
  for (const verb of ['start', 'stop', 'restart', 'suspend', 'shutdownGuest'] as const)
    await expect(power[verb](anyCall(), 'vm-9999')).rejects.toMatchObject({ failure: 'absent' })
  expect(await power.power(anyCall(), 'vm-9999')).toEqual({ found: false })
})

test('a guest without tools is not asked to shut down, one with tools is', async () => {
  const machine = await makeMachine(ports)
  await (await power.start(anyCall(), machine)).wait(anyCall())
  await expect(power.shutdownGuest(anyCall(), machine)).rejects.toMatchObject({
    code: 'platform-refused',
    failure: 'refused',
  })
  expect((await stateOf(machine)).state).toBe('on')
  await setSimulated({ vcsim }, machine, { 'guest.toolsRunningStatus': 'guestToolsRunning' })
  const heard = await power.shutdownGuest(anyCall(), machine)
  expect(await heard.wait(anyCall())).toBe(machine)
  expect(await heard.status(anyCall())).toMatchObject({ state: 'succeeded', percent: 100, error: null })
  expect((await stateOf(machine)).state).toBe('off')
})

test('a task is found again by its id from another process, and with it how it ended', async () => {
  const machine = await makeMachine(ports)
  const task = await power.start(anyCall(), machine)
  await task.wait(anyCall())
  const other = portsOf(openTestVsphere(vcsim)).power
  const found = await other.findTask(anyCall(), { taskId: task.id })
  if (!found.found) throw new Error('The task was not found again.')
  expect(await found.value.status(anyCall())).toMatchObject({ id: task.id, state: 'succeeded', error: null })
  expect(await other.findTask(anyCall(), { taskId: 'task-9999' })).toEqual({ found: false })
  expect(await other.findTask(anyCall(), { name: 'never said', machine })).toEqual({ found: false })
})

test('a start whose answer is lost is unknown, and the machine itself tells that it happened', async () => {
  const machine = await makeMachine(ports)
  const proxy = await startSoapProxy(vcsim.url)
  const behind = portsOf(openTestVsphere(vcsim, proxy.url)).power
  proxy.loseAnswer('PowerOnVM_Task')
  await expect(behind.start(anyCall(), machine)).rejects.toMatchObject({ failure: 'unknown' })
  expect(proxy.seen.filter((method) => method === 'PowerOnVM_Task')).toHaveLength(1)
  expect((await stateOf(machine)).state).toBe('on')
})

test('a start that was cut off before it was heard is unknown too, and the machine tells that it did not happen', async () => {
  const machine = await makeMachine(ports)
  const proxy = await startSoapProxy(vcsim.url)
  const behind = portsOf(openTestVsphere(vcsim, proxy.url)).power
  proxy.cutBefore('PowerOnVM_Task')
  await expect(behind.start(anyCall(), machine)).rejects.toMatchObject({ failure: 'unknown' })
  expect((await stateOf(machine)).state).toBe('off')
})
