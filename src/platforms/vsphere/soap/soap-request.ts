import type { Ref } from '../../../xml/xml-node.ts'

/** One call of vim25: a method of a managed object. */
export interface SoapRequest {
  readonly on: Ref
  readonly method: string
  /** The parameters as XML, in the order of the API's schema: made with `element`, `wrap` and `refElement`. */
  readonly body?: string
  /** Asking twice does no harm. Only then is it sent again when a kept connection turns out to be closed. */
  readonly repeatable?: boolean
}

/** The characters that XML does not know in any form are left out: a server would refuse the whole call. */
export const escapeXml = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll(/[&<>"'\r]/g, (character) => escapes[character] as string)

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\r': '&#13;',
}

/** A plain value. `xsiType` where the schema says "any" (`xsd:string`, `xsd:boolean`). */
export const element = (name: string, value: string | number | boolean, xsiType?: string): string =>
  wrap(name, escapeXml(String(value)), xsiType)

/** Elements inside an element. `inner` is XML already. */
export const wrap = (name: string, inner: string, xsiType?: string): string =>
  `<${name}${xsiType === undefined ? '' : ` xsi:type="${escapeXml(xsiType)}"`}>${inner}</${name}>`

export const refElement = (name: string, ref: Ref): string =>
  `<${name} type="${escapeXml(ref.type)}">${escapeXml(ref.value)}</${name}>`

export const envelope = ({ on, method, body }: SoapRequest): string =>
  '<?xml version="1.0" encoding="UTF-8"?>' +
  '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"' +
  ' xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">' +
  `<soapenv:Body><${method} xmlns="urn:vim25">${refElement('_this', on)}${body ?? ''}</${method}>` +
  '</soapenv:Body></soapenv:Envelope>'
