import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from './command.ts'

export interface Connection {
  readonly url: string
  readonly token: string | undefined
  /** Where the token was found, for `drover doctor`. */
  readonly tokenFrom: string | undefined
}

const defaultUrl = 'http://127.0.0.1:7070'

/**
 * Where the API is and who we are: DROVER_URL, DROVER_TOKEN or DROVER_TOKEN_FILE. On this machine the token that
 * `npm start` keeps for local programs (an operator's) will do; it is never sent to another machine.
 */
export const readConnection = (env: NodeJS.ProcessEnv): Connection => {
  const url = readUrl(env.DROVER_URL || defaultUrl)
  if (env.DROVER_TOKEN) return { url, token: env.DROVER_TOKEN.trim(), tokenFrom: 'DROVER_TOKEN' }
  if (env.DROVER_TOKEN_FILE) {
    const token = readToken(env.DROVER_TOKEN_FILE)
    if (token === undefined)
      throw new UsageError(`DROVER_TOKEN_FILE cannot be read: ${env.DROVER_TOKEN_FILE}`)
    return { url, token, tokenFrom: env.DROVER_TOKEN_FILE }
  }
  if (!isLocal(url)) return { url, token: undefined, tokenFrom: undefined }
  for (const path of localTokenPaths(env)) {
    const token = readToken(path)
    if (token !== undefined) return { url, token, tokenFrom: path }
  }
  return { url, token: undefined, tokenFrom: undefined }
}

const readUrl = (text: string): string => {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new UsageError(`DROVER_URL must be an address such as ${defaultUrl}, not "${text}".`)
  }
  if (!['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`DROVER_URL must begin with http:// or https://, not "${text}".`)
  return url.origin
}

const isLocal = (url: string): boolean => {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** Where the standalone start keeps it: the data directory of a person, and that of root. */
const localTokenPaths = (env: NodeJS.ProcessEnv): string[] => {
  const dirs = env.DROVER_DATA_DIR
    ? [env.DROVER_DATA_DIR]
    : [join(env.HOME || homedir(), '.drover'), '/var/lib/drover']
  return dirs.map((dir) => join(dir, 'local.token'))
}

const readToken = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}
