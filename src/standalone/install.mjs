// Plain JavaScript on Node's own modules: this runs before any package is installed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Installs the packages when they are missing or not those of the lock file; otherwise does nothing, in a few
 * milliseconds. Returns whether it installed.
 *
 * @param {string} root the directory of package.json
 * @param {{ dev?: boolean }} [options] `dev: false` leaves out what only tests and checks need
 * @returns {Promise<boolean>}
 */
export const ensureInstalled = async (root, options = {}) => {
  const dev = options.dev ?? true
  if (isInstalled(root, dev)) return false
  const release = await lockInstall(root)
  try {
    // Another one may have installed while we waited.
    if (isInstalled(root, dev)) return false
    await install(root, dev)
    writeStamp(root, dev)
    return true
  } finally {
    release()
  }
}

const stampPath = (root) => join(root, 'node_modules', '.drover-installed.json')
const lockPath = (root) => join(root, 'package-lock.json')

const isInstalled = (root, dev) => {
  const stamp = readJson(stampPath(root))
  if (stamp?.wanted === wanted(root) && (stamp.dev || !dev)) return true
  if (!holdsWhatTheLockSays(root, dev)) return false
  // Somebody ran npm themselves. Remember it; a tree that we may not write to is looked at each time.
  writeStamp(root, dev)
  return true
}

/** What the packages depend on: the lock file, and the machine they are for. */
const wanted = (root) => {
  const hash = createHash('sha256').update(readFileSync(lockPath(root)))
  return `${process.platform}-${process.arch} ${hash.digest('hex')}`
}

const writeStamp = (root, dev) => {
  try {
    writeFileSync(stampPath(root), `${JSON.stringify({ wanted: wanted(root), dev })}\n`)
  } catch {
    // Read-only: the next start compares again.
  }
}

/** Compares npm's own record of the tree with the lock file. */
const holdsWhatTheLockSays = (root, dev) => {
  const lock = readJson(lockPath(root))
  const tree = readJson(join(root, 'node_modules', '.package-lock.json'))
  if (!lock?.packages || !tree?.packages) return false
  return Object.entries(lock.packages).every(([path, facts]) => {
    if (path === '' || facts.link) return true
    // npm leaves out what is not for this machine.
    if (facts.optional || facts.devOptional || facts.os || facts.cpu || facts.libc) return true
    if (facts.dev && !dev) return true
    return tree.packages[path]?.version === facts.version
  })
}

/** `npm ci` installs exactly what the lock file says, and leaves the lock file as it is. */
const install = async (root, dev) => {
  // Whatever NODE_ENV or a .npmrc leaves out. Nothing of ours needs an install script.
  const groups = [dev ? '--include=dev' : '--omit=dev', '--include=optional']
  const flags = ['ci', ...groups, '--ignore-scripts', '--no-audit', '--no-fund']
  process.stderr.write(`Installing packages: npm ${flags.join(' ')}\n`)
  const code = await runNpm(root, flags)
  if (code === 0) return
  const error = new Error(`npm ci failed (${code}). Run "npm ci" in ${root}, and see what it says.`)
  error.name = 'InstallError'
  throw error
}

const runNpm = (root, flags) => {
  // The npm that runs us, if any; else the one on the PATH. Never through a shell.
  const cli = process.env.npm_execpath
  const byNode = cli?.endsWith('.js')
  const command = byNode ? process.execPath : 'npm'
  return new Promise((resolve, reject) => {
    const child = spawn(command, byNode ? [cli, ...flags] : flags, {
      cwd: root,
      // Our standard output stays ours.
      stdio: ['ignore', 2, 2],
    })
    child.once('error', (cause) => reject(new Error(`npm cannot be started: ${cause.message}`, { cause })))
    child.once('exit', (code, signal) => resolve(signal ?? code))
  })
}

/** One install at a time in a tree: two at once would delete under each other. */
const lockInstall = async (root) => {
  const path = join(root, '.cache', 'install.lock')
  mkdirSync(join(root, '.cache'), { recursive: true })
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' })
      return () => rmSync(path, { force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (!holderLives(path)) rmSync(path, { force: true })
    else await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

const holderLives = (path) => {
  try {
    process.kill(Number(readFileSync(path, 'utf8')), 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

const readJson = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
