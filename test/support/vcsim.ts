import type { Connection } from '../../src/platforms/ports/connection.ts'
import { startProcess, type TestProcess } from './processes.ts'
import { seenFingerprint } from './seen-fingerprint.ts'
import { freePort, tempDir } from './temp.ts'
import { vcsimProgram } from './vcsim-build.ts'

export interface VcsimOptions {
  /** Machines of each resource pool and of each host that stands alone. */
  readonly vms?: number
  readonly esx?: boolean
  readonly datacenters?: number
  readonly clusters?: number
  readonly hosts?: number
  readonly standaloneHosts?: number
  readonly pools?: number
  readonly folders?: number
  readonly nsxNetworks?: number
  readonly portgroups?: number
  readonly nsxPortgroups?: number
  readonly datastores?: number
  /** Whether the machines run from the start; they do. */
  readonly autostart?: boolean
  /** How much longer every call takes. */
  readonly delayMs?: number
  /** The same for single methods. */
  readonly methodDelayMs?: Readonly<Record<string, number>>
}

/** A simulated vCenter of our own; it knows one account and shows a certificate that nobody signed. */
export interface Vcsim {
  /** `https://127.0.0.1:<port>/sdk`. */
  readonly url: string
  readonly port: number
  readonly process: TestProcess
  /** As a person has confirmed it: account and fingerprint are right. */
  readonly connection: Connection
  /** The same address with an inventory made anew: all refs, sessions and cursors are gone. */
  restart(): Promise<void>
}

export const vcsimAccount = { username: 'administrator@vsphere.local', password: 'vcsim-Pa55 <&> word' }

/** Starts a simulator; it is gone at the end of the test or file. */
export const startVcsim = async (options: VcsimOptions = {}): Promise<Vcsim> => {
  const program = await vcsimProgram()
  const dir = await tempDir('vcsim')
  const launch = (port: number) =>
    startProcess({ command: program, args: argumentsOf(options, port), env: { TMPDIR: dir } })
  let port = await freePort()
  let process = await launch(port)
  let url = ''
  for (let tries = 1; url === ''; tries += 1) {
    const ready = await process.line('ready', { withinMs: 60_000 }).catch((error: unknown) => {
      // One that ended has found its port taken; one that says nothing is ill.
      if (tries === 5 || process.running) throw error
    })
    if (ready) url = `https://127.0.0.1:${port}/sdk`
    else {
      port = await freePort()
      process = await launch(port)
    }
  }
  const fingerprint = await seenFingerprint('127.0.0.1', port)
  return {
    url,
    port,
    get process() {
      return process
    },
    connection: {
      kind: 'vsphere',
      endpoint: url,
      ...vcsimAccount,
      ca: '',
      fingerprint,
      caller: 'drover-test',
      connectTimeoutMs: 10_000,
    },
    restart: async () => {
      await process.stop()
      process = await launch(port)
      await process.line('ready', { withinMs: 60_000 })
    },
  }
}

const argumentsOf = (options: VcsimOptions, port: number): string[] => {
  const delays = Object.entries(options.methodDelayMs ?? {}).map(([method, ms]) => `${method}:${ms}`)
  const flags: Record<string, string | number | boolean | undefined> = {
    l: `127.0.0.1:${port}`,
    vm: options.vms,
    esx: options.esx,
    dc: options.datacenters,
    cluster: options.clusters,
    host: options.hosts,
    'standalone-host': options.standaloneHosts,
    pool: options.pools,
    folder: options.folders,
    nsx: options.nsxNetworks,
    pg: options.portgroups,
    'nsx-pg': options.nsxPortgroups,
    ds: options.datastores,
    autostart: options.autostart,
    delay: options.delayMs,
    'method-delay': delays.length === 0 ? undefined : delays.join(','),
    ...vcsimAccount,
  }
  return Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`-${name}=${value}`]))
}
