import { expect, test } from 'vitest'
import { openMachines } from '../../src/platforms/vsphere/machines/machines.ts'
import { openPower } from '../../src/platforms/vsphere/machines/power.ts'
import { fakeRefs, readFakeObjects } from '../support/fake-objects.ts'
import { startFakeVsphere } from '../support/fake-vsphere.ts'
import { anyCall } from '../support/vsphere-machines.ts'

test('recorded shapes: a running task tells how far it is, and one that vSphere forgot is unknown', async () => {
  const infos = [
    '<state>queued</state>',
    '<state>running</state><progress>10</progress>',
    '<state>running</state><progress>7</progress>',
    '<state>running</state><progress>60</progress>',
    '<state>success</state><result xsi:type="ManagedObjectReference" type="VirtualMachine">vm-5</result>',
  ]
  const reading = readFakeObjects(() => ({
    'VirtualMachine:vm-5': { 'runtime.powerState': 'poweredOff', 'config.template': 'false' },
    ...(infos.length === 0 ? {} : { 'Task:task-1': { info: { type: 'TaskInfo', xml: infos[0] ?? '' } } }),
  }))
  const fake = await startFakeVsphere({
    RetrievePropertiesEx: (request) => {
      const answer = reading(request)
      if (request.includes('task-1')) infos.shift()
      return answer
    },
    PowerOnVM_Task: () => '<returnval type="Task">task-1</returnval>',
  })
  const power = openPower(fake.session)
  const task = await power.start(anyCall(), 'vm-5')
  const seen: number[] = []
  expect(await task.wait(anyCall(), (percent) => seen.push(percent))).toBe('vm-5')
  expect(seen).toEqual([10, 60])
  await expect(task.status(anyCall())).rejects.toMatchObject({ failure: 'unknown' })
  await expect(task.wait(anyCall())).rejects.toMatchObject({ failure: 'unknown' })
  expect(await power.findTask(anyCall(), { taskId: 'task-1' })).toEqual({ found: false })
})

// promise: foreign-task
test('recorded shapes: one task that runs on the machine is found by it; of two, none is', async () => {
  const info = (verb: string, machine: string, state: string) => ({
    info: {
      type: 'TaskInfo',
      xml: `<descriptionId>VirtualMachine.${verb}</descriptionId><entity type="VirtualMachine">${machine}</entity><state>${state}</state>`,
    },
  })
  const tasks: Record<string, ReturnType<typeof info>> = {
    'Task:task-1': info('powerOn', 'vm-5', 'success'),
    'Task:task-2': info('powerOff', 'vm-5', 'running'),
    'Task:task-3': info('powerOn', 'vm-6', 'running'),
    'Task:task-4': info('rename', 'vm-5', 'running'),
  }
  const fake = await startFakeVsphere({
    RetrievePropertiesEx: readFakeObjects(() => ({
      ...tasks,
      'X:taskManager': { recentTask: fakeRefs(...Object.keys(tasks)) },
    })),
  })
  const { findTask } = openPower(fake.session)
  const found = await findTask(anyCall(), { name: 'never heard', machine: 'vm-5' })
  expect(found.found && found.value.id).toBe('task-2')
  // What somebody else has begun there is not taken for ours when it does something else.
  const stopping = await findTask(anyCall(), { name: 'never heard', machine: 'vm-5', verb: 'stop' })
  expect(stopping.found && stopping.value.id).toBe('task-2')
  for (const verb of ['restart', 'start', 'shutdown'] as const)
    expect(await findTask(anyCall(), { name: 'never heard', machine: 'vm-5', verb })).toEqual({
      found: false,
    })
  expect(await findTask(anyCall(), { machine: 'vm-7' })).toEqual({ found: false })
  tasks['Task:task-5'] = info('powerOn', 'vm-5', 'queued')
  expect(await findTask(anyCall(), { machine: 'vm-5' })).toEqual({ found: false })
})

/** A task whose first looks go wrong in the way that the test wants. */
const startWithBadLooks = async (badLooks: number) => {
  const reading = readFakeObjects(() => ({
    'VirtualMachine:vm-5': { 'runtime.powerState': 'poweredOff', 'config.template': 'false' },
    'Task:task-1': { info: { type: 'TaskInfo', xml: '<state>success</state>' } },
  }))
  let left = badLooks
  const fake = await startFakeVsphere({
    PowerOnVM_Task: () => '<returnval type="Task">task-1</returnval>',
    RetrievePropertiesEx: (request) =>
      request.includes('task-1') && left-- > 0
        ? (answer) => void answer.writeHead(503).end()
        : reading(request),
  })
  return openPower(fake.session).start(anyCall(), 'vm-5')
}

test('a few looks at a task that fail do not end the wait; a server that stays away does, as unknown', async () => {
  expect(await (await startWithBadLooks(4)).wait(anyCall())).toBeNull()
  const waiting = (await startWithBadLooks(1_000)).wait(anyCall())
  await expect(waiting).rejects.toMatchObject({ code: 'platform-unreachable', failure: 'unknown' })
})

test('a machine that we may not look into is not ours; one that cannot be read ends the search', async () => {
  const option = (owner: string) =>
    `<OptionValue><key>drover.owner</key><value xsi:type="xsd:string">{"drover":"${owner}"}</value></OptionValue>`
  const machine = (ref: string, inner: string) =>
    `<objects><obj type="VirtualMachine">${ref}</obj>${inner}</objects>`
  const marked = (owner: string) =>
    `<propSet><name>config.extraConfig</name><val xsi:type="ArrayOfOptionValue">${option(owner)}</val></propSet>`
  const missing = (fault: string) =>
    `<missingSet><path>config.extraConfig</path><fault><fault xsi:type="${fault}"></fault></fault></missingSet>`
  let gap = 'NoPermission'
  const fake = await startFakeVsphere({
    CreateContainerView: () => '<returnval type="ContainerView">view-1</returnval>',
    DestroyView: () => '',
    RetrievePropertiesEx: () =>
      `<returnval>${machine('vm-1', marked('us'))}${machine('vm-2', missing(gap))}${machine('vm-3', marked('them'))}</returnval>`,
  })
  const { findOwned } = openMachines(fake.session)
  expect(await findOwned(anyCall(), { drover: 'us' })).toEqual(['vm-1'])
  gap = 'SystemError'
  await expect(findOwned(anyCall(), { drover: 'us' })).rejects.toMatchObject({ failure: 'unknown' })
  expect(fake.asked.filter((method) => method === 'DestroyView')).toHaveLength(2)
})
