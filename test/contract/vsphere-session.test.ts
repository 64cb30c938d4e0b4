import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { PlatformError } from '../../src/platforms/ports/platform-error.ts'
import { inventoryPort } from '../../src/platforms/vsphere/inventory/inventory.ts'
import { retrieve, retrieveOne, retrieveSome } from '../../src/platforms/vsphere/soap/property-read.ts'
import { changesSince, type ObjectChange } from '../../src/platforms/vsphere/soap/property-wait.ts'
import { Vapi } from '../../src/platforms/vsphere/soap/vapi.ts'
import { openVsphere } from '../../src/platforms/vsphere/vsphere.ts'
import { Fault, fakeObject, startFakeVsphere } from '../support/fake-vsphere.ts'
import { call, expectFailure } from '../support/hostile-server.ts'
import { soapAnswer } from '../support/soap-answers.ts'
import { startVcsim } from '../support/vcsim.ts'
import { until } from '../support/wait.ts'

const vm = { type: 'VirtualMachine', value: 'vm-1' }
const collector = { type: 'PropertyCollector', value: 'pc' }
const names = { type: 'VirtualMachine', paths: ['name'] }

test('a session that the server forgot is opened again once, and the call goes through', async () => {
  let forgets = 1
  const fake = await startFakeVsphere({
    PowerOnVM_Task: () =>
      forgets-- > 0 ? new Fault('NotAuthenticated') : '<returnval type="Task">t</returnval>',
  })
  const answer = await fake.session.call(call(), { on: vm, method: 'PowerOnVM_Task' })
  expect(answer.children[0]?.text).toBe('t')
  expect(fake.asked).toEqual(['RetrieveServiceContent', 'Login', 'PowerOnVM_Task', 'Login', 'PowerOnVM_Task'])
})

test('a server that forgets every session at once is not asked for ever', async () => {
  const fake = await startFakeVsphere({ PowerOnVM_Task: () => new Fault('NotAuthenticated') })
  const asked = fake.session.call(call(), { on: vm, method: 'PowerOnVM_Task' })
  await expectFailure(asked, 'platform-session-lost', 'refused')
  expect(fake.asked.filter((method) => method === 'Login')).toHaveLength(2)
})

test('calls at the same time share one login', async () => {
  const fake = await startFakeVsphere({ QueryX: () => '' })
  await Promise.all(Array.from({ length: 10 }, () => fake.session.call(call(), { on: vm, method: 'QueryX' })))
  expect(fake.asked.filter((method) => method === 'Login')).toHaveLength(1)
})

test('a refused password is not tried again and again, and is in no error', async () => {
  const password = 'planted-S3cret <&>'
  const fake = await startFakeVsphere(
    { Login: () => new Fault('InvalidLogin', 'planted-S3cret &lt;&amp;&gt; is wrong') },
    { password },
  )
  for (let tries = 0; tries < 5; tries += 1) {
    const error = await expectFailure(
      fake.session.call(call(), { on: vm, method: 'QueryX' }),
      'platform-authentication',
      'refused',
    )
    expect(JSON.stringify([error.message, error.detail, error.stack])).not.toContain('planted-S3cret')
  }
  const reading = inventoryPort({
    http: fake.session.http,
    account: fake.account,
    session: fake.session,
    vapi: new Vapi(fake.session.http, fake.account),
  }).scan(call(), { scopes: [], concurrency: 1, itemTimeoutMs: 1_000 })
  await expectFailure(reading.next(), 'platform-authentication', 'refused')
  expect(fake.asked.filter((method) => method === 'Login')).toHaveLength(1)
})

test('vcsim refuses a wrong password and a stranger’s certificate is shown before anything is sent', async () => {
  const { connection } = await startVcsim({ vms: 0 })
  const wrong = openVsphere({ ...connection, password: 'wrong' })
  await expectFailure(wrong.probe(call()), 'platform-authentication', 'refused')
  await wrong.close()
  const stranger = openVsphere({ ...connection, fingerprint: '' })
  const error = await expectFailure(stranger.probe(call()), 'platform-fingerprint', 'refused')
  expect(error.detail).toMatchObject({ fingerprint: connection.fingerprint, trusted: false })
  await stranger.close()
  const swapped = openVsphere({ ...connection, fingerprint: createHash('sha256').update('x').digest('hex') })
  await expectFailure(swapped.probe(call()), 'platform-fingerprint', 'refused')
  await swapped.close()
})

test('a confirmed vcsim and an ESXi host say who they are', async () => {
  const vcenter = openVsphere((await startVcsim({ vms: 0 })).connection)
  expect(await vcenter.probe(call())).toMatchObject({ product: 'VMware vCenter Server', version: '6.5.0' })
  await vcenter.close()
  const esx = openVsphere((await startVcsim({ esx: true, vms: 0 })).connection)
  expect((await esx.probe(call())).product).toContain('ESX')
  await esx.close()
})

test('pages follow each other until the last', async () => {
  const fake = await startFakeVsphere({
    RetrievePropertiesEx: (request) => {
      expect(request).toContain('<maxObjects>2</maxObjects>')
      return `<returnval><token>1</token>${fakeObject('vm-1', { name: 'a' })}${fakeObject('vm-2', { name: 'b' })}</returnval>`
    },
    ContinueRetrievePropertiesEx: (request) =>
      request.includes('<token>1</token>')
        ? `<returnval><token>2 &amp; 3</token>${fakeObject('vm-3', { name: 'c' })}</returnval>`
        : `<returnval>${fakeObject('vm-4', { name: 'd' })}</returnval>`,
  })
  const seen: string[] = []
  const options = { objects: { view: vm }, properties: [names], pageSize: 2 }
  for await (const objects of retrieve(fake.session, call(), options))
    seen.push(...objects.map(({ ref, properties }) => `${ref.value}=${properties.get('name')?.text}`))
  expect(seen).toEqual(['vm-1=a', 'vm-2=b', 'vm-3=c', 'vm-4=d'])
  expect(fake.asked.at(-1)).toBe('ContinueRetrievePropertiesEx')
})

test('whoever stops reading frees what the server holds for the next page', async () => {
  const fake = await startFakeVsphere({
    RetrievePropertiesEx: () => `<returnval><token>9</token>${fakeObject('vm-1', { name: 'a' })}</returnval>`,
    ContinueRetrievePropertiesEx: () => `<returnval><token>10</token>${fakeObject('vm-2', {})}</returnval>`,
    CancelRetrievePropertiesEx: (request) => {
      expect(request).toContain('<token>9</token>')
      return ''
    },
  })
  const reading = retrieve(fake.session, call(), { objects: { view: vm }, properties: [names] })
  for await (const objects of reading) if (objects[0]?.ref.value === 'vm-2') break
  expect(fake.asked.at(-1)).toBe('CancelRetrievePropertiesEx')
})

test('what may not be read of one thing is told with that thing alone', async () => {
  const fake = await startFakeVsphere({
    RetrievePropertiesEx: () =>
      `<returnval>${fakeObject('vm-1', { name: 'a' })}<objects><obj type="VirtualMachine">vm-2</obj><missingSet><path>name</path>
       <fault><fault xsi:type="NoPermission"><privilegeId>System.Read</privilegeId></fault><localizedMessage>no</localizedMessage></fault></missingSet></objects></returnval>`,
  })
  const read = await retrieveSome(fake.session, call(), [vm, { ...vm, value: 'vm-2' }], names)
  expect(read.map(({ missing }) => [...missing.values()].map(({ type }) => type))).toEqual([
    [],
    ['NoPermission'],
  ])
})

test('nothing found is not the same as nothing known', async () => {
  const fake = await startFakeVsphere({ RetrievePropertiesEx: () => new Fault('ManagedObjectNotFound') })
  expect(await retrieveOne(fake.session, call(), vm, ['name'])).toEqual({ found: false })
  const silent = await startFakeVsphere({ RetrievePropertiesEx: () => new Fault('HostCommunication') })
  await expectFailure(retrieveOne(silent.session, call(), vm, ['name']), 'platform-unreachable', 'unknown')
})

test('one that goes while it is read is gone, one that may not be read is there', async () => {
  const answering = async (fault: string) =>
    startFakeVsphere({
      RetrievePropertiesEx: () =>
        `<returnval><objects><obj type="VirtualMachine">vm-1</obj><missingSet><path>name</path>
         <fault><fault xsi:type="${fault}"/><localizedMessage>no</localizedMessage></fault></missingSet></objects></returnval>`,
    })
  const [gone, hidden] = [await answering('ManagedObjectNotFound'), await answering('NoPermission')]
  expect(await retrieveOne(gone.session, call(), vm, ['name'])).toEqual({ found: false })
  expect(await retrieveOne(hidden.session, call(), vm, ['name'])).toMatchObject({ found: true })
})

test('an answer that is cut in the middle is no shorter answer', async () => {
  const whole = soapAnswer(
    'RetrievePropertiesEx',
    `<returnval>${fakeObject('vm-1', { name: 'a' }).repeat(50)}</returnval>`,
  )
  for (const end of ['close', 'drop'] as const) {
    const fake = await startFakeVsphere({
      RetrievePropertiesEx: () => (answer) => {
        answer.writeHead(200, { 'Content-Type': 'text/xml' })
        answer.write(whole.slice(0, whole.length / 2), () =>
          end === 'drop' ? answer.destroy() : answer.end(),
        )
      },
    })
    const read = retrieveSome(
      fake.session,
      call(),
      Array.from({ length: 50 }, () => vm),
      names,
    )
    const code = end === 'drop' ? 'platform-unreachable' : 'platform-answer-invalid'
    await expectFailure(read, code, 'unknown')
  }
})

test.each([
  ['a DOCTYPE', 'text/xml', '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'],
  ['no XML', 'text/xml', 'hello'],
  ['a page', 'text/html', '<html></html>'],
  ['another method’s answer', 'text/xml', soapAnswer('Logout', '')],
  ['no envelope', 'text/xml', '<QueryXResponse/>'],
  ['elements without an end', 'text/xml', '<a>'.repeat(1_000)],
])('%s is an answer that cannot be used', async (_what, type, text) => {
  const fake = await startFakeVsphere({
    QueryX: () => (answer) => answer.writeHead(200, { 'Content-Type': type }).end(text),
  })
  const asked = fake.session.call(call(), { on: vm, method: 'QueryX' })
  await expectFailure(asked, 'platform-answer-invalid', 'unknown')
})

test('a server that is starting is not there yet, and a fault without a type is unknown', async () => {
  const fake = await startFakeVsphere({
    QueryX: () => (answer) => answer.writeHead(503, { 'Content-Type': 'text/plain' }).end('starting'),
    QueryY: () => new Fault(''),
  })
  const ask = (method: string) => fake.session.call(call(), { on: vm, method })
  await expectFailure(ask('QueryX'), 'platform-unreachable', 'unknown')
  await expectFailure(ask('QueryY'), 'platform-fault', 'unknown')
})

test('a call ends at its deadline, the login that others wait for does not', async () => {
  let answerLogin = () => {}
  const fake = await startFakeVsphere({
    Login: () => (answer) => {
      answerLogin = () => answer.writeHead(200, { 'Content-Type': 'text/xml' }).end(soapAnswer('Login', ''))
    },
    QueryX: () => '',
  })
  const first = fake.session.call(call({ timeoutMs: 300 }), { on: vm, method: 'QueryX' })
  const second = fake.session.call(call(), { on: vm, method: 'QueryX' })
  await expect(first).rejects.toBeInstanceOf(PlatformError)
  await until(() => fake.asked.includes('Login'), { what: 'the login to come' })
  answerLogin()
  await second
  expect(fake.asked.filter((method) => method === 'Login')).toHaveLength(1)
})

const update = (kind: string, ref: string, path = 'name') =>
  `<objectSet><kind>${kind}</kind><obj type="VirtualMachine">${ref}</obj><changeSet><name>${path}</name><op>assign</op><val>x</val></changeSet></objectSet>`

test('changes in several parts are read to the last, with the version that comes with each', async () => {
  const versions: string[] = []
  const fake = await startFakeVsphere({
    WaitForUpdatesEx: (request) => {
      const version = /<version>(.*?)<\/version>/.exec(request)?.[1] ?? ''
      versions.push(version)
      if (version === '1')
        return `<returnval><version>2</version><filterSet><filter type="F">f</filter>${update('modify', 'vm-1')}</filterSet><truncated>true</truncated></returnval>`
      return version === '2'
        ? `<returnval><version>3</version><filterSet>${update('leave', 'vm-2')}</filterSet><filterSet>${update('enter', 'vm-3', 'runtime.host')}</filterSet></returnval>`
        : ''
    },
  })
  const seen: ObjectChange[] = []
  const changes = changesSince(fake.session, call(), { collector, version: '1' })
  let step = await changes.next()
  for (; !step.done; step = await changes.next()) seen.push(...step.value)
  expect(step.value).toBe('3')
  expect(versions).toEqual(['1', '2'])
  expect(seen.map(({ kind, ref, paths }) => [kind, ref.value, ...paths])).toEqual([
    ['modify', 'vm-1', 'name'],
    ['leave', 'vm-2', 'name'],
    ['enter', 'vm-3', 'runtime.host'],
  ])
  const after = changesSince(fake.session, call(), { collector, version: '3' })
  expect(await after.next()).toEqual({ done: true, value: '3' })
})
