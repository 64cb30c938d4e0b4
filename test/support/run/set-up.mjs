import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { ensureInstalled } from '../../../src/standalone/install.mjs'
import { root } from './root.mjs'

/** Brings the machine to where the wanted suites can run. Throws `NotReady` with the command that helps. */
export const setUp = async (debianPackages) => {
  try {
    await ensureInstalled(root)
  } catch (error) {
    throw error.name === 'InstallError' ? new NotReady(error.message) : error
  }
  installDebianPackages(debianPackages)
}

/** A message for a person: what is missing and the exact command that brings it. */
export class NotReady extends Error {}

/** How a package shows that it is there, for machines where it came by other ways than dpkg. */
const programOf = {
  'redis-server': 'redis-server',
  'nginx-light': 'nginx',
  chromium: 'chromium',
  podman: 'podman',
  'qemu-utils': 'qemu-img',
}

const installDebianPackages = (names) => {
  const missing = names.filter((name) => !isInstalled(name))
  if (missing.length === 0) return
  const install = ['install', '-y', '--no-install-recommends', ...missing]
  const command = `apt-get update && apt-get ${install.join(' ')}`
  if (process.getuid?.() !== 0 || !onPath('apt-get'))
    throw new NotReady(`These tests need ${missing.join(', ')}. Run as root: ${command}`)
  console.log(`set-up: ${command}`)
  withoutServices(() => {
    for (const args of [
      ['update', '-q'],
      ['-q', ...install],
    ]) {
      const result = spawnSync('apt-get', args, {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      })
      // An update that fails may still leave an index that is good enough for the install.
      if (result.status !== 0 && args[0] !== 'update')
        throw new NotReady(`apt-get could not install ${missing.join(', ')}. Run as root: ${command}`)
    }
  })
}

const isInstalled = (name) => {
  if (programOf[name] && onPath(programOf[name])) return true
  const result = spawnSync('dpkg', ['-s', name], { encoding: 'utf8' })
  return result.status === 0 && result.stdout.includes('\nStatus: install ok installed\n')
}

const onPath = (program) =>
  (process.env.PATH ?? '').split(':').some((dir) => dir !== '' && existsSync(`${dir}/${program}`))

const policyPath = '/usr/sbin/policy-rc.d'

/** Debian's way to install a server without starting it; one that somebody else has put there stays. */
const withoutServices = (install) => {
  const ours = !existsSync(policyPath)
  if (ours) writeFileSync(policyPath, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    install()
  } finally {
    if (ours) rmSync(policyPath, { force: true })
  }
}
