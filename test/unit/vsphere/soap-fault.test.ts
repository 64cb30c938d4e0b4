import { expect, test } from 'vitest'
import { PlatformError } from '../../../src/platforms/ports/platform-error.ts'
import { faultError, localizedFault, soapFault } from '../../../src/platforms/vsphere/soap/soap-fault.ts'
import { envelope, escapeXml } from '../../../src/platforms/vsphere/soap/soap-request.ts'
import { at } from '../../../src/xml/xml-node.ts'
import { soapFaultAnswer, xmlNode } from '../../support/soap-answers.ts'

const place = { host: 'vc', method: 'PowerOnVM_Task' }

test.each([
  ['InvalidLogin', 'platform-authentication', 'refused'],
  ['NoPermission', 'platform-permission', 'refused'],
  ['NotAuthenticated', 'platform-session-lost', 'refused'],
  ['ManagedObjectNotFound', 'platform-absent', 'absent'],
  ['InvalidPowerState', 'platform-wrong-state', 'refused'],
  ['InvalidState', 'platform-wrong-state', 'refused'],
  ['TaskInProgress', 'platform-busy', 'refused'],
  ['DuplicateName', 'platform-name-taken', 'refused'],
  ['MethodNotFound', 'platform-unsupported', 'unsupported'],
  ['NotSupported', 'platform-unsupported', 'unsupported'],
  ['InsufficientMemoryResourcesFault', 'platform-no-capacity', 'refused'],
  ['NoDiskSpace', 'platform-no-capacity', 'refused'],
  ['HostNotConnected', 'platform-unreachable', 'unknown'],
  ['InvalidCollectorVersion', 'platform-cursor-lost', 'refused'],
  ['ToolsUnavailable', 'platform-refused', 'refused'],
  ['CannotAccessFile', 'platform-fault', 'unknown'],
  ['SomethingNew', 'platform-fault', 'unknown'],
])('%s means %s, and what happened is %s', (type, code, failure) => {
  const fault = soapFault(at(xmlNode(soapFaultAnswer(type)), 'Body/Fault')!)
  expect(fault.type).toBe(type)
  expect(faultError(fault, place)).toMatchObject({ code, failure })
})

test('a fault of a task is read as one of a call', () => {
  const error = xmlNode(
    '<error><fault xsi:type="InvalidPowerState"><requestedState>poweredOn</requestedState></fault><localizedMessage>It is on.</localizedMessage></error>',
  )
  expect(localizedFault(error)).toEqual({ type: 'InvalidPowerState', message: 'It is on.' })
})

test('what must stay secret is in no message, though the platform says it again', () => {
  const fault = { type: 'InvalidLogin', message: 'Login of admin with "s3cr<t" failed, session abcd' }
  const error = faultError(fault, { ...place, secrets: ['s3cr<t', 'abcd', ''] })
  expect(error).toBeInstanceOf(PlatformError)
  expect(JSON.stringify([error.message, error.detail, error.remedy])).not.toMatch(/s3cr|abcd/)
})

test('a message is one line of bounded length', () => {
  const { message } = faultError(
    { type: 'InvalidArgument', message: `a\r\n\u0007b${'x'.repeat(10_000)}` },
    place,
  )
  expect(message.length).toBeLessThan(500)
  expect(message).toContain('a bxxx')
})

test('parameters cannot end their element', () => {
  const text = envelope({
    on: { type: 'T"x', value: '</_this><evil/>' },
    method: 'M',
    body: escapeXml(']]><&\u0000'),
  })
  const method = at(xmlNode(text), 'Body/M')
  expect(method?.children).toEqual([
    { name: '_this', xsiType: '', refType: 'T"x', children: [], text: '</_this><evil/>' },
  ])
})
