import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const source = fileURLToPath(new URL('vcsim/', import.meta.url))
const cache = fileURLToPath(new URL('../../node_modules/.cache/drover-vcsim/', import.meta.url))

/** The library that the simulator is made of, and who compiles it, as Debian packages them. */
export const vcsimPackages = ['golang-go', 'golang-github-vmware-govmomi-dev']

/**
 * The path of the simulator's program, built on first use: some twenty seconds. Kept by what it is made of, so
 * that a change of ours or of Debian's builds it again.
 */
export const vcsimProgram = async (): Promise<string> => {
  const text = await readFile(join(source, 'main.go'))
  const digest = createHash('sha256')
    .update(text)
    .update(await packageVersions())
    .digest('hex')
  const program = join(cache, digest.slice(0, 16), 'vcsim')
  if (!existsSync(program)) await build(program)
  return program
}

const packageVersions = async (): Promise<string> => {
  try {
    const { stdout } = await run('dpkg-query', ['-W', ...vcsimPackages])
    return stdout
  } catch (error) {
    throw new Error(`The vSphere simulator needs: apt-get install ${vcsimPackages.join(' ')}`, {
      cause: error,
    })
  }
}

/** Into a place of its own first: two test runs may build at the same time. */
const build = async (program: string): Promise<void> => {
  const dir = await mkdtemp(join(tmpdir(), 'drover-vcsim-build-'))
  try {
    await run('go', ['build', '-o', join(dir, 'vcsim'), '.'], {
      cwd: source,
      env: {
        ...process.env,
        GOPATH: '/usr/share/gocode',
        GO111MODULE: 'off',
        GOFLAGS: '',
        GOCACHE: join(dir, 'cache'),
      },
    })
    await mkdir(join(program, '..'), { recursive: true })
    await run('cp', [join(dir, 'vcsim'), `${program}.${process.pid}`])
    await rename(`${program}.${process.pid}`, program)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}
