import { startLab } from '../../../src/lab/lab.ts'

/** A lab in a process of its own, so that it takes no time of those who measure. Its tasks take none at all. */
const run = async (): Promise<void> => {
  const { LAB_DATABASE_URL: databaseUrl = '', LAB_MACHINES: machines = '' } = process.env
  const lab = await startLab({ databaseUrl, world: 'large', machines: Number(machines), pace: 0 })
  process.once('SIGTERM', () => {
    void lab.stop().then(() => process.exit(0))
  })
  process.send?.({ port: lab.port, password: lab.password })
}

await run()
