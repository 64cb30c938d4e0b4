import type { IncomingMessage } from 'node:http'

export const header = (request: IncomingMessage, name: string): string => {
  const value = request.headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? ''
}

export const bearer = (request: IncomingMessage): string =>
  /^Bearer (.+)$/.exec(header(request, 'authorization'))?.[1] ?? ''
