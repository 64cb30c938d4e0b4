import { describe, expect, test } from 'vitest'
import { PlatformError } from '../../src/platforms/ports/platform-error.ts'
import { readTags } from '../../src/platforms/vsphere/inventory/instance-tags.ts'
import { readTree } from '../../src/platforms/vsphere/inventory/inventory-tree.ts'
import { retrieve, retrieveOne } from '../../src/platforms/vsphere/soap/property-read.ts'
import { changesSince } from '../../src/platforms/vsphere/soap/property-wait.ts'
import { Vapi } from '../../src/platforms/vsphere/soap/vapi.ts'
import { openVsphere } from '../../src/platforms/vsphere/vsphere.ts'
import { atEnd } from '../support/cleanup.ts'
import { everyAsk } from '../support/every-ask.ts'
import { fakeObject, startFakeVsphere } from '../support/fake-vsphere.ts'
import { call, expectFailure, openTestHttp, serve } from '../support/hostile-server.ts'
import { hostileValues, plainLine } from '../support/hostile-words.ts'
import { soapAnswer } from '../support/soap-answers.ts'

const folder = { type: 'Folder', value: 'group-1' }
const around = {
  objects: { view: { type: 'ContainerView', value: 'v' } },
  properties: [{ type: 'Folder', paths: ['name'] }],
}

const drain = async (stream: AsyncGenerator<unknown, unknown>) => {
  for (let step = await stream.next(); !step.done; ) step = await stream.next()
}

describe('pages', () => {
  test('that say for ever that another one follows, and hold nothing, end the reading', async () => {
    const more = () => '<returnval><token>1</token></returnval>'
    const fake = await startFakeVsphere({ RetrievePropertiesEx: more, ContinueRetrievePropertiesEx: more })
    await expectFailure(drain(retrieve(fake.session, call(), around)), 'platform-answer-invalid', 'unknown')
    expect(fake.asked.filter((method) => method.endsWith('RetrievePropertiesEx')).length).toBeLessThan(5)
  })

  // promise: hostile-platform
  test('that go on with objects for ever end at what is held, not when memory does', async () => {
    let made = 0
    const many = () => {
      const objects = Array.from(
        { length: 20_000 },
        () => `<objects><obj type="Folder">f-${++made}</obj></objects>`,
      )
      return `<returnval><token>1</token>${objects.join('')}</returnval>`
    }
    const fake = await startFakeVsphere({
      CreateContainerView: () => '<returnval type="ContainerView">v</returnval>',
      DestroyView: () => '',
      CancelRetrievePropertiesEx: () => '',
      RetrievePropertiesEx: many,
      ContinueRetrievePropertiesEx: many,
    })
    await expectFailure(readTree(fake.session, call()), 'platform-answer-invalid', 'unknown')
    expect(made).toBeLessThan(250_000)
  })

  test('of changes that never end, or of which each holds nothing, end the delta', async () => {
    const part = () => '<returnval><version>1</version><truncated>true</truncated></returnval>'
    const fake = await startFakeVsphere({ WaitForUpdatesEx: part })
    const watch = { collector: { type: 'PropertyCollector', value: 'c' }, version: '1' }
    await expectFailure(
      drain(changesSince(fake.session, call(), watch)),
      'platform-answer-invalid',
      'unknown',
    )
    expect(fake.asked.length).toBeLessThan(6)
  })
})

test('an answer to a question for one object with a thousand others, or with none, is not taken', async () => {
  const many = Array.from({ length: 1_000 }, (_, index) => fakeObject(`vm-${index}`, { name: 'x' })).join('')
  for (const answer of [
    many,
    '<objects></objects>',
    '<objects><obj type="X"></obj></objects>',
    fakeObject('x'.repeat(600), {}),
  ]) {
    const fake = await startFakeVsphere({ RetrievePropertiesEx: () => `<returnval>${answer}</returnval>` })
    const reading = retrieveOne(fake.session, call(), { type: 'VirtualMachine', value: 'vm-1' }, ['name'])
    await expectFailure(reading, 'platform-answer-invalid', 'unknown')
  }
})

test('a view, a collector or a change without an id is an answer that cannot be used', async () => {
  const fake = await startFakeVsphere({
    CreateContainerView: () => '<returnval></returnval>',
    WaitForUpdatesEx: () =>
      '<returnval><version>2</version><filterSet><filter type="F">f</filter><objectSet><kind>modify</kind></objectSet></filterSet></returnval>',
  })
  await expectFailure(readTree(fake.session, call()), 'platform-answer-invalid', 'unknown')
  const watch = { collector: folder, version: '1' }
  await expectFailure(drain(changesSince(fake.session, call(), watch)), 'platform-answer-invalid', 'unknown')
})

/** Insides of answers, each to whatever is asked. */
const insides: Readonly<Record<string, string>> = {
  nothing: '',
  'an empty value': '<returnval></returnval>',
  'a text': '<returnval>owned</returnval>',
  'a reference to something else': '<returnval type="Task">task-999</returnval>',
  'a reference to what every object knows': '<returnval type="constructor">__proto__</returnval>',
  'an object without an id': '<returnval><objects></objects></returnval>',
  'an object that was not asked for': `<returnval>${fakeObject('vm-666', { name: '../../x', info: 'y' })}</returnval>`,
  'a machine of words that every object knows': `<returnval>${fakeObject('vm-1', {
    ...{
      name: '&lt;script&gt;&#x202e;',
      'runtime.powerState': 'constructor',
      'config.hardware': 'constructor',
    },
    ...{
      'config.template': '__proto__',
      info: 'toString',
      parent: 'vm-1',
      snapshot: 'x',
      'config.extraConfig': '=1+1',
    },
    ...{ 'config.hardware.device': '-1', 'config.changeTrackingEnabled': 'true' },
  })}</returnval>`,
  'a hundred faults': `<returnval>${'<missingSet><path>x</path><fault><fault xsi:type="constructor"/></fault></missingSet>'.repeat(100)}</returnval>`,
  'ten thousand elements deep in nothing': `<returnval>${'<a><b>'.repeat(20)}${'</b></a>'.repeat(20)}</returnval>`,
}

describe.each(Object.entries(insides))('a vCenter that answers everything with %s', (_what, inside) => {
  test('gets a typed error, or is told that nothing is there, whatever it was asked', async () => {
    const contentRefs = [
      'rootFolder',
      'propertyCollector',
      'viewManager',
      'sessionManager',
      'searchIndex',
      'ovfManager',
      'taskManager',
      'customFieldsManager',
    ]
    const server = await serve((incoming, answer) => {
      let body = ''
      incoming.on('data', (chunk) => {
        body += chunk
      })
      incoming.on('end', () => {
        const method = /<soapenv:Body><(\w+)/.exec(body)?.[1]
        if (!method)
          return answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify('s'))
        answer.setHeader('Set-Cookie', 'vmware_soap_session="s"; Path=/')
        answer.writeHead(200, { 'Content-Type': 'text/xml' })
        const content = `<returnval>${contentRefs.map((name) => `<${name} type="X">${name}</${name}>`).join('')}<about><apiType>VirtualCenter</apiType><apiVersion>8.0.0.0</apiVersion></about></returnval>`
        const said = method === 'RetrieveServiceContent' ? content : method === 'Login' ? '' : inside
        answer.end(soapAnswer(method, said))
      })
    })
    const platform = openVsphere({
      ...{
        kind: 'vsphere',
        endpoint: `${server.url}/sdk`,
        username: 'u',
        password: 'p',
        ca: '',
        fingerprint: '',
      },
      ...{ caller: 'test', connectTimeoutMs: 10_000 },
    })
    atEnd(() => platform.close())
    for (const [name, ask] of everyAsk(platform)) {
      const error = await ask(call({ timeoutMs: 2_000, name })).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      if (error === undefined) continue
      expect(error, `${name}: ${(error as Error).stack}`).toBeInstanceOf(PlatformError)
      expect((error as PlatformError).message).toMatch(plainLine)
    }
  })
})

describe('tags', () => {
  const vapiWith = async (answers: (path: string) => unknown) => {
    const server = await serve((incoming, answer) => {
      incoming.resume()
      const path = incoming.url ?? ''
      const value = path === '/api/session' ? 'session-1' : answers(path)
      answer.writeHead(200, { 'content-type': 'application/json' })
      answer.end(
        typeof value === 'string' && value.startsWith('raw:') ? value.slice(4) : JSON.stringify(value),
      )
    })
    const account = { username: 'u', password: 'p', caller: 'c', connectTimeoutMs: 10_000 }
    return { vapi: new Vapi(openTestHttp(server.url), account), server }
  }

  test('more than any vCenter can have are not asked for one by one', async () => {
    const ids = Array.from({ length: 30_000 }, (_, index) => `t-${index}`)
    const { vapi, server } = await vapiWith(() => ids)
    await expectFailure(readTags(vapi, call()), 'platform-answer-invalid', 'unknown')
    expect(server.seen.requests).toBeLessThan(5)
  })

  test('that hang on more machines than there can be end the reading', async () => {
    const objects = Array.from({ length: 300_000 }, (_, index) => ({
      type: 'VirtualMachine',
      id: `vm-${index}`,
    }))
    const { vapi } = await vapiWith((path) => {
      if (path.endsWith('/tagging/tag')) return Array.from({ length: 500 }, (_, index) => `t-${index}`)
      if (path.includes('list-attached')) return [{ tag_id: 't-1', object_ids: objects }]
      return { name: 'n', category_id: 'c' }
    })
    await expectFailure(readTags(vapi, call()), 'platform-answer-invalid', 'unknown')
  })

  test('with anything in place of their names have none, and nobody minds', async () => {
    for (const value of hostileValues) {
      const { vapi } = await vapiWith((path) => {
        if (path.endsWith('/tagging/tag')) return ['t-1', value]
        if (path.includes('list-attached'))
          return [
            { tag_id: value, object_ids: value },
            { tag_id: 't-1', object_ids: [{ type: 'VirtualMachine', id: 'vm-1' }] },
          ]
        return { name: value, category_id: value }
      })
      const error = await readTags(vapi, call()).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      if (error !== undefined) expect(error, JSON.stringify(value)).toBeInstanceOf(PlatformError)
    }
  })

  test('an answer of many million small values is refused before they are made', async () => {
    const { vapi } = await vapiWith(() => `raw:[${'{},'.repeat(4_000_000)}{}]`)
    await expectFailure(readTags(vapi, call()), 'platform-answer-invalid', 'unknown')
  })
})
