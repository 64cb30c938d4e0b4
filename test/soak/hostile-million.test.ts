import { expect, test } from 'vitest'
import { readTree } from '../../src/platforms/vsphere/inventory/inventory-tree.ts'
import { retrieve } from '../../src/platforms/vsphere/soap/property-read.ts'
import { fakeObject, startFakeVsphere } from '../support/fake-vsphere.ts'
import { call, expectFailure } from '../support/hostile-server.ts'
import { soapAnswer } from '../support/soap-answers.ts'

/** The most that the process held while `work` ran, above what it held before. */
const heldDuring = async (work: () => Promise<unknown>): Promise<number> => {
  const before = process.memoryUsage().rss
  let most = before
  const looking = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss)
  }, 50)
  try {
    await work()
  } finally {
    clearInterval(looking)
  }
  return most - before
}

const MiB = 1024 ** 2
const view = { type: 'ContainerView', value: 'v' }

/** One endless answer, written as fast as it is taken. */
const endless = (piece: string) => (answer: import('node:http').ServerResponse) => {
  answer.writeHead(200, { 'Content-Type': 'text/xml' })
  answer.write(
    soapAnswer('RetrievePropertiesEx', '<returnval>')
      .split('</returnval>')[0]
      ?.split('</RetrievePropertiesExResponse>')[0],
  )
  const more = (): void => {
    if (answer.destroyed) return
    if (answer.write(piece)) setImmediate(more)
    else answer.once('drain', more)
  }
  more()
}

test('a million machines and more in one answer are bounded in number, and never held', async () => {
  const machine = fakeObject('vm-1', { name: 'n'.repeat(50) })
  const fake = await startFakeVsphere({ RetrievePropertiesEx: () => endless(machine.repeat(500)) })
  let count = 0
  const reading = async () => {
    const properties = [{ type: 'VirtualMachine', paths: ['name'] }]
    for await (const objects of retrieve(fake.session, call(), {
      objects: { view },
      properties,
      flows: true,
    }))
      count += objects.length
  }
  const held = await heldDuring(() => expectFailure(reading(), 'platform-answer-invalid', 'unknown'))
  expect(count).toBeGreaterThan(990_000)
  expect(count).toBeLessThanOrEqual(1_000_000)
  expect(held).toBeLessThan(400 * MiB)
})

test('folders by the million, with names that fill memory, end at what may be held', async () => {
  const folder = fakeObject('f-1', { name: 'n'.repeat(100_000) }).replace('VirtualMachine', 'Folder')
  const fake = await startFakeVsphere({
    CreateContainerView: () => '<returnval type="ContainerView">v</returnval>',
    DestroyView: () => '',
    RetrievePropertiesEx: () => endless(folder),
  })
  const held = await heldDuring(() =>
    expectFailure(readTree(fake.session, call()), 'platform-answer-invalid', 'unknown'),
  )
  expect(held).toBeLessThan(700 * MiB)
})
