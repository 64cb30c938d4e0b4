import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from './cleanup.ts'

/** Made here, removed by whoever called. Others may look into it: Postgres runs as another user when we are root. */
export const makeTempDir = async (purpose: string): Promise<string> => {
  const dir = await mkdtemp(join(tmpdir(), `drover-${purpose}-`))
  await chmod(dir, 0o755)
  return dir
}

/** A fresh directory that goes away at the end of the test or file. */
export const tempDir = async (purpose = 'test'): Promise<string> => {
  const dir = await makeTempDir(purpose)
  atEnd(() => rm(dir, { recursive: true, force: true }))
  return dir
}

/** A loopback port that was free a moment ago. Whoever listens on it must be ready to lose the race and ask again. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address ? address.port : 0
      server.close(() => resolve(port))
    })
  })
