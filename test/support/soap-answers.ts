import type { XmlNode } from '../../src/xml/xml-node.ts'
import { usualXmlLimits, XmlStream } from '../../src/xml/xml-stream.ts'

/** An answer of vSphere around what its method gives. */
export const soapAnswer = (method: string, inside: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<soapenv:Envelope ${namespaces}><soapenv:Body>` +
  `<${method}Response xmlns="urn:vim25">${inside}</${method}Response></soapenv:Body></soapenv:Envelope>`

/** An answer with a fault, as vSphere words one. */
export const soapFaultAnswer = (type: string, message = ''): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<soapenv:Envelope ${namespaces}><soapenv:Body><soapenv:Fault>` +
  `<faultcode>ServerFaultCode</faultcode><faultstring>${message}</faultstring><detail>` +
  `<${type}Fault xmlns="urn:vim25" xsi:type="${type}"></${type}Fault>` +
  '</detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>'

const namespaces =
  'xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" ' +
  'xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" ' +
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

/** One element as it is read from a whole document. */
export const xmlNode = (text: string): XmlNode => {
  const stream = new XmlStream(usualXmlLimits)
  stream.write(Buffer.from(text))
  return stream.end()
}
