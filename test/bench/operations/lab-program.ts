import { startLab } from '../../../src/lab/lab.ts'

/** A stop takes 40 ms and a restart 120: what is asked in the next moment meets them, and no rate is bound by them. */
const pace = 0.1

/**
 * Labs in a process of their own, so that they take no time of those who measure. Each has a database of its own: a lab
 * makes its changes one after the other.
 */
const run = async (): Promise<void> => {
  const { LAB_DATABASE_URLS: urls = '', LAB_MACHINES: machines = '' } = process.env
  const labs = await Promise.all(
    urls
      .split(' ')
      .map((databaseUrl) => startLab({ databaseUrl, world: 'large', machines: Number(machines), pace })),
  )
  process.once('SIGTERM', () => {
    void Promise.all(labs.map((lab) => lab.stop())).then(() => process.exit(0))
  })
  process.send?.(labs.map(({ port, password }) => ({ port, password })))
}

await run()
