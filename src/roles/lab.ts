import type { Config } from '../config/config.ts'
import { startLab } from '../lab/lab.ts'
import type { RunningRole } from '../process/health.ts'
import { createLog } from '../process/log.ts'
import { startProcessMetrics } from '../process/telemetry.ts'

/** Starts the lab as a process of its own. Its health is on its own port, beside the sites. */
export const runLab = async (config: Config): Promise<RunningRole> => {
  const { port, world, password, adminToken, tls } = config.lab
  startProcessMetrics('lab')
  const lab = await startLab({
    databaseUrl: config.databaseUrl ?? '',
    port,
    tls,
    adminToken: adminToken ?? '',
    ...(world === undefined ? {} : { world }),
    ...(password === undefined ? {} : { password }),
    log: createLog({ role: 'lab', level: config.logLevel }),
  })
  return { name: 'lab', port: lab.port, stop: () => lab.stop() }
}
