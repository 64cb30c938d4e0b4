import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Connection } from '../../src/platforms/connection.ts'
import { atEnd } from './cleanup.ts'

/** What a method is answered with: the inside of its answer, or a fault with what is in it. */
export type VimAnswer = string | { readonly fault: string; readonly inner?: string }

/** Answers written down from the API's own schema, for what the simulator does not know. */
export interface FakeVim {
  readonly connection: Connection
  /** Methods with the inside of what was sent, in order. */
  readonly heard: readonly { readonly method: string; readonly body: string }[]
}

/** A server that knows a session, its managers, and the methods that the test gives it. */
export const startFakeVim = async (
  methods: Readonly<Record<string, (body: string) => VimAnswer>>,
): Promise<FakeVim> => {
  const heard: { method: string; body: string }[] = []
  const known = { ...basics, ...methods }
  const server = createServer((incoming, answer) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      const text = Buffer.concat(chunks).toString()
      const [, method = '', body = ''] = /<soapenv:Body><(\w+)[^>]*>(.*)<\/\1>/s.exec(text) ?? []
      heard.push({ method, body })
      const said = known[method]?.(body) ?? { fault: 'MethodNotFound' }
      const isFault = typeof said !== 'string'
      answer.writeHead(isFault ? 500 : 200, {
        'Content-Type': 'text/xml; charset=utf-8',
        ...(method === 'Login' ? { 'Set-Cookie': 'vmware_soap_session="fake"; Path=/' } : {}),
      })
      answer.end(
        enveloped(
          isFault ? faultOf(said) : `<${method}Response xmlns="urn:vim25">${said}</${method}Response>`,
        ),
      )
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  atEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  const connection: Connection = {
    kind: 'vsphere',
    endpoint: `http://127.0.0.1:${port}/sdk`,
    username: 'user',
    password: 'pass',
    ca: '',
    fingerprint: '',
    caller: 'drover-test',
    connectTimeoutMs: 10_000,
  }
  return { connection, heard }
}

const enveloped = (body: string): string =>
  '<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope' +
  ' xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema"' +
  ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>${body}</soapenv:Body></soapenv:Envelope>`

const faultOf = ({ fault, inner = '' }: Exclude<VimAnswer, string>): string =>
  '<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>It was refused.</faultstring><detail>' +
  `<${fault}Fault xmlns="urn:vim25" xsi:type="${fault}">${inner}</${fault}Fault></detail></soapenv:Fault>`

const managers = [
  'propertyCollector',
  'sessionManager',
  'searchIndex',
  'taskManager',
  'viewManager',
  'ovfManager',
]

const basics: Readonly<Record<string, (body: string) => VimAnswer>> = {
  RetrieveServiceContent: () =>
    `<returnval><rootFolder type="Folder">group-d1</rootFolder>${managers
      .map(
        (name) => `<${name} type="${name.replace(/^./, (first) => first.toUpperCase())}">${name}</${name}>`,
      )
      .join('')}<about><name>VMware vCenter Server</name><version>8.0.2</version><build>1</build>` +
    '<apiType>VirtualCenter</apiType><apiVersion>8.0.2.0</apiVersion><instanceUuid>x</instanceUuid></about></returnval>',
  Login: () => '<returnval><key>1</key><userName>user</userName></returnval>',
  Logout: () => '',
}

/** One object in the answer to a reading of properties; `properties` are XML by path. */
export const objectContent = (
  type: string,
  ref: string,
  properties: Readonly<Record<string, { readonly type: string; readonly xml: string }>>,
): string =>
  `<returnval><objects><obj type="${type}">${ref}</obj>${Object.entries(properties)
    .map(
      ([name, { type: valueType, xml }]) =>
        `<propSet><name>${name}</name><val xsi:type="${valueType}">${xml}</val></propSet>`,
    )
    .join('')}</objects></returnval>`
