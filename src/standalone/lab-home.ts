import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { keepSecret } from './data-dir.ts'

/** How the lab of this data directory is started and reached. */
export interface LabHome {
  /** 0: the system picks one, and from then on it is that one. */
  readonly port: number
  readonly tls: boolean
  /** Of the user `drover` at every site. */
  readonly password: string
  readonly adminToken: string
  /** Where the port is kept. */
  readonly portFile: string
}

/** Over restarts the port and the password stay, unless somebody else took the port. */
export const chooseLabHome = async (options: {
  readonly config: Pick<Config, 'lab'>
  readonly dataDir: string
  /** A person named the port: then it is that one or none. */
  readonly portNamed: boolean
}): Promise<LabHome> => {
  const { lab } = options.config
  const portFile = join(options.dataDir, 'lab.port')
  const kept = keptPort(portFile)
  const keptOrAny = kept !== undefined && (await isFree(kept)) ? kept : 0
  return {
    port: options.portNamed && lab.port !== 0 ? lab.port : keptOrAny,
    tls: lab.tls,
    password:
      lab.password ??
      keepSecret(join(options.dataDir, 'lab.password'), () => randomBytes(18).toString('base64url')),
    adminToken: lab.adminToken ?? randomBytes(24).toString('base64url'),
    portFile,
  }
}

/** Where a lab at this port answers. */
export const labUrl = (home: LabHome, port: number): string =>
  `${home.tls ? 'https' : 'http'}://127.0.0.1:${port}`

/** Remembers where the lab is: one that crashes comes back there, and so does that of the next start. */
export const keepLabPort = (home: LabHome, port: number): LabHome => {
  writeFileSync(home.portFile, `${port}\n`, { mode: 0o600 })
  return { ...home, port }
}

/** What the lab needs of the environment; no key that opens anything else. */
export const labEnvironment = (env: NodeJS.ProcessEnv, home: LabHome): NodeJS.ProcessEnv => {
  const others = [
    'DROVER_SECRET_KEY',
    'REDIS_URL',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
  ]
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !others.includes(name))),
    DROVER_LAB_PORT: String(home.port),
    DROVER_LAB_PASSWORD: home.password,
    DROVER_LAB_ADMIN_TOKEN: home.adminToken,
  }
}

const keptPort = (path: string): number | undefined => {
  try {
    const port = Number(readFileSync(path, 'utf8'))
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined
  } catch {
    return undefined
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
