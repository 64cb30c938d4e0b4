import { execFileSync } from 'node:child_process'
import { repositoryRoot } from './processes.ts'

const seedsEnd = 2 ** 31

/** The first 31 bits of the commit; undefined: this is no clone, or there is no git. */
const ofCommit = (): number | undefined => {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: repositoryRoot,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return Number.parseInt(commit.slice(0, 8), 16) >>> 1
  } catch {
    return undefined
  }
}

/** Another one each time, unless one is given. For what runs apart from pushes. */
export const randomSeed = (): number => given() ?? Date.now() % seedsEnd

/**
 * Where random stories begin: as SEED says, else as the commit does. Each commit has stories of its own, and they are the
 * same wherever and however often it is run: what was seen to pass is not refused elsewhere. The tests' names say it.
 */
export const storySeed = (): number => given() ?? ofCommit() ?? randomSeed()

const given = (): number | undefined =>
  process.env.SEED === undefined ? undefined : Number(process.env.SEED)
