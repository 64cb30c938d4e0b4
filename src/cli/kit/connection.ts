import { homedir } from 'node:os'
import { join } from 'node:path'
import { type ApiDoor, socketDoor } from '../../api-request.ts'
import { findLocalDoor } from '../../standalone/local-door.ts'
import { UsageError } from './command.ts'
import { type GivenFile, readGiven } from './given-file.ts'

export interface Connection {
  readonly door: ApiDoor
  /** Who answers there, unless it is Drover. */
  readonly who?: string
  /** The same in words: an address, or a socket. */
  readonly where: string
  readonly token: string | undefined
  /** Where the token was found, for `drover doctor`. */
  readonly tokenFrom: string | undefined
  /** What is not safe about it, although a person wanted it. */
  readonly warning?: string
}

interface Credential {
  readonly token: string
  readonly from: string
}

/**
 * Where the API is and who we are. DROVER_URL names an address, DROVER_TOKEN or DROVER_TOKEN_FILE a token. Without an
 * address it is the Drover of this machine, on its socket: a token goes to nobody who was neither named nor proved.
 * The local token (an operator's) goes to that socket alone.
 */
export const readConnection = (
  env: NodeJS.ProcessEnv,
  options: { readonly insecureHttp?: boolean } = {},
): Connection => {
  const own = readCredential(env)
  if (env.DROVER_URL) {
    const insecure = options.insecureHttp === true || env.DROVER_INSECURE_HTTP === '1'
    return overNetwork(readUrl(env.DROVER_URL), own, insecure)
  }
  const local = findLocalDoor(dataDirs(env))
  const { socketPath, tokenPath } = local
  return {
    door: socketDoor(socketPath),
    where: `the socket ${socketPath}`,
    token: own ? own.token : local.readToken(),
    tokenFrom: own ? own.from : tokenPath,
  }
}

const tokenFile: GivenFile = {
  option: 'DROVER_TOKEN_FILE',
  holds: 'It names a file with a token alone, which an administrator makes with drover tokens add.',
}

const readCredential = (env: NodeJS.ProcessEnv): Credential | undefined => {
  if (env.DROVER_TOKEN) return { token: env.DROVER_TOKEN.trim(), from: 'DROVER_TOKEN' }
  const path = env.DROVER_TOKEN_FILE
  if (!path) return undefined
  const token = readGiven(path, tokenFile).trim()
  if (token !== '') return { token, from: path }
  throw new UsageError(`${tokenFile.option}: ${path} is empty.`, tokenFile.holds)
}

/** Whoever is on the way reads plain HTTP: beyond this machine a token goes there only when a person said so. */
const overNetwork = (url: URL, own: Credential | undefined, insecure: boolean): Connection => {
  const { origin } = url
  const where = { door: { origin }, where: origin, token: own?.token, tokenFrom: own?.from }
  if (own === undefined || url.protocol === 'https:' || isLoopback(url)) return where
  if (!insecure)
    throw new UsageError(
      `DROVER_URL is ${origin}: plain HTTP would show your token to everybody on the way. Use https://, or say --insecure-http (DROVER_INSECURE_HTTP=1).`,
    )
  return { ...where, warning: `Your token goes to ${origin} unencrypted: everybody on the way can read it.` }
}

const readUrl = (text: string): URL => {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new UsageError(`DROVER_URL must be an address such as http://127.0.0.1:7070, not "${text}".`)
  }
  if (!['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`DROVER_URL must begin with http:// or https://, not "${text}".`)
  return url
}

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)

/** Where the standalone start keeps its data: the directory of a person, and that of root. */
const dataDirs = (env: NodeJS.ProcessEnv): string[] =>
  env.DROVER_DATA_DIR ? [env.DROVER_DATA_DIR] : [join(env.HOME || homedir(), '.drover'), '/var/lib/drover']
