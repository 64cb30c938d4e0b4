import type { ServerResponse } from 'node:http'
import { openHttp } from '../../src/platforms/http/platform-http.ts'
import { Session, type SessionAccount } from '../../src/platforms/vsphere/soap/session.ts'
import { atEnd } from './cleanup.ts'
import { serve } from './hostile-server.ts'
import { soapAnswer, soapFaultAnswer } from './soap-answers.ts'

/** What a method gives: the inside of its answer, or everything that the test wants to do with it. */
export type FakeMethod = (request: string) => string | ((answer: ServerResponse) => void) | Fault

/** Answered as a fault of that type. */
export class Fault {
  readonly type: string
  readonly message: string

  constructor(type: string, message = '') {
    this.type = type
    this.message = message
  }
}

export interface FakeVsphere {
  readonly url: string
  /** Methods in the order in which they came. */
  readonly asked: readonly string[]
  readonly session: Session
  readonly account: SessionAccount
}

const refs = [
  ...['rootFolder', 'propertyCollector', 'viewManager', 'sessionManager', 'searchIndex', 'ovfManager'],
  'taskManager',
]
const content =
  `<returnval>${refs.map((name) => `<${name} type="X">${name}</${name}>`).join('')}<about><name>Fake</name>` +
  '<version>8.0</version><apiType>VirtualCenter</apiType><apiVersion>8.0.2.0</apiVersion>' +
  '<instanceUuid>fake-1</instanceUuid></about></returnval>'

/** A vSphere that says what the simulator never does. Whoever logs in is welcome, unless `Login` is given. */
export const startFakeVsphere = async (
  methods: Readonly<Record<string, FakeMethod>>,
  over: Partial<SessionAccount> = {},
): Promise<FakeVsphere> => {
  const asked: string[] = []
  const known: Record<string, FakeMethod> = {
    RetrieveServiceContent: () => content,
    Login: () => '<returnval><key>1</key></returnval>',
    Logout: () => '',
    ...methods,
  }
  const server = await serve((incoming, answer) => {
    let body = ''
    incoming.on('data', (chunk) => {
      body += chunk
    })
    incoming.on('end', () => {
      const method = /<soapenv:Body><(\w+)/.exec(body)?.[1] ?? ''
      asked.push(method)
      const said = known[method]?.(body) ?? new Fault('MethodNotFound')
      if (method === 'Login') answer.setHeader('Set-Cookie', `vmware_soap_session="s${asked.length}"; Path=/`)
      if (typeof said === 'function') return said(answer)
      const isFault = said instanceof Fault
      answer.writeHead(isFault ? 500 : 200, { 'Content-Type': 'text/xml; charset=utf-8' })
      answer.end(isFault ? soapFaultAnswer(said.type, said.message) : soapAnswer(method, said))
    })
  })
  const http = openHttp({
    endpoint: `${server.url}/sdk`,
    ca: '',
    fingerprint: '',
    connectTimeoutMs: 10_000,
  })
  const account = { username: 'u', password: 'p', caller: 'drover-test', connectTimeoutMs: 10_000, ...over }
  atEnd(() => http.close())
  return { url: `${server.url}/sdk`, asked, session: new Session(http, account), account }
}

/** An ObjectContent with some text properties. */
export const fakeObject = (ref: string, properties: Readonly<Record<string, string>>): string =>
  `<objects><obj type="VirtualMachine">${ref}</obj>${Object.entries(properties)
    .map(
      ([name, value]) => `<propSet><name>${name}</name><val xsi:type="xsd:string">${value}</val></propSet>`,
    )
    .join('')}</objects>`
