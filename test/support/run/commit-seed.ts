import { spawnSync } from 'node:child_process'

/** The first 31 bits of the commit: what it picks is the same in every run of a commit. 0 where there is no git. */
export const commitSeed = (): number => {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' })
  const bits = Number.parseInt((stdout ?? '').slice(0, 8), 16)
  return Number.isNaN(bits) ? 0 : bits >>> 1
}
