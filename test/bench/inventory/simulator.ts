import { connect } from 'node:net'
import type { Connection } from '../../../src/platforms/ports/connection.ts'
import { seenFingerprint } from '../../support/seen-fingerprint.ts'
import { vcsimProgram } from '../../support/vcsim-build.ts'
import { until } from '../../support/wait.ts'
import { freePort } from '../free-port.ts'
import { startProcess } from '../processes.ts'

const account = { username: 'administrator@vsphere.local', password: 'bench-password' }

export interface Simulator {
  readonly pid: number
  readonly port: number
  readonly fingerprint: string
  readonly stop: () => Promise<void>
}

/** A simulated vCenter with about so many machines, in one cluster. */
export const startSimulator = async (machines: number): Promise<Simulator> => {
  const port = await freePort()
  const args = {
    l: `127.0.0.1:${port}`,
    vm: machines,
    'standalone-host': 0,
    ds: 4,
    autostart: false,
    ...account,
  }
  const started = startProcess({
    title: 'vcsim',
    command: await vcsimProgram(),
    args: Object.entries(args).map(([name, value]) => `-${name}=${value}`),
  })
  await until(() => answers(port), { what: 'the simulator to answer', withinMs: 300_000, everyMs: 250 })
  return { pid: started.pid, port, fingerprint: await seenFingerprint('127.0.0.1', port), stop: started.stop }
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

/** As a person would have confirmed it, by way of another port. */
export const connectionTo = (simulator: Simulator, port = simulator.port): Connection => ({
  kind: 'vsphere',
  endpoint: `https://127.0.0.1:${port}/sdk`,
  ...account,
  ca: '',
  fingerprint: simulator.fingerprint,
  caller: 'drover-bench',
  connectTimeoutMs: 10_000,
})
