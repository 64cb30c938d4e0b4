import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { appendFile, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { repositoryRoot } from '../../support/processes.ts'
import { freePort, makeTempDir } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'
import { type Engine, say, startEngine } from './engine.ts'
import { Fleet, HealthChecks } from './fleet.ts'
import { buildImage, makeStandIns, type PulledImages } from './images.ts'

const run = promisify(execFile)
const image = 'localhost/drover-container-test:1'

/** A built image and an installation of it on a private container engine. */
export interface Scene {
  readonly engine: Engine
  readonly fleet: Fleet
  readonly checks: HealthChecks
  readonly project: string
  readonly image: string
  /** Where the secret files are. */
  readonly secrets: string
  /** Secrets that lay in the folder from which the image was built. */
  readonly planted: readonly string[]
  /** Where the API answers on this machine. */
  readonly address: string
  close(): Promise<void>
}

/** Image names as our two files have them, in the long form that podman keeps. */
const pulledImages = (): PulledImages => {
  const text = (name: string) => readFileSync(join(repositoryRoot, name), 'utf8')
  const compose = parse(text('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { image: string }>
  }
  const node = text('Dockerfile').match(/^ARG NODE_IMAGE=(\S+)$/m)?.[1] ?? ''
  const byDefault = (name: string) => compose.services[name]?.image.match(/:-(.+)\}$/)?.[1] ?? ''
  const long = (name: string) => `docker.io/library/${name}`
  return { node, postgres: long(byDefault('postgres')), redis: long(byDefault('redis')) }
}

/** Makes the secret files that are missing, as the manual says. */
export const makeSecrets = (dir: string) =>
  run(process.execPath, ['src/cli/make-secrets.mjs', dir], { cwd: repositoryRoot })

/** Builds the image by our Dockerfile; nothing runs yet. `files`: the compose files, ours if nothing is said. */
export const openScene = async (name: string): Promise<Scene> => {
  const dir = await makeTempDir('containers')
  const secrets = join(dir, 'secrets')
  const project = `drover-${name}-${process.pid}`
  await makeSecrets(secrets)
  const began = performance.now()
  const engine = await startEngine()
  try {
    await makeStandIns(engine, pulledImages())
    const { context, planted } = await plantedSources(dir, secrets)
    await buildImage(engine, { tag: image, context })
    say(`the image was built after ${Math.round((performance.now() - began) / 1000)} s`)
    say('NOT AS IN PRODUCTION: health checks are run by this test, since podman leaves them to systemd')
    const port = await freePort()
    const settings = {
      DROVER_SECRETS: secrets,
      DROVER_IMAGE: image,
      DROVER_PUBLISH: `127.0.0.1:${port}`,
    }
    const fleet = new Fleet({ engine, project, settings })
    const checks = new HealthChecks(engine, fleet)
    const close = async () => {
      await checks.stop()
      await fleet.down()
      await engine.podman(['rmi', '--force', image])
      await engine.close()
      await rm(dir, { recursive: true, force: true })
    }
    const address = `http://127.0.0.1:${port}`
    return { engine, fleet, checks, project, image, secrets, planted, address, close }
  } catch (error) {
    await engine.close()
    throw error
  }
}

/** The sources as a careless person may have them: with secrets lying about. */
const plantedSources = async (
  dir: string,
  secrets: string,
): Promise<{ context: string; planted: readonly string[] }> => {
  const context = join(dir, 'sources')
  await mkdir(context)
  const files = ['Dockerfile', '.dockerignore', '.npmrc', 'LICENSE', 'package.json', 'package-lock.json']
  for (const name of [...files, 'docker-compose.yml', 'db', 'src', 'workers'])
    await cp(join(repositoryRoot, name), join(context, name), { recursive: true })
  await cp(secrets, join(context, 'secrets'), { recursive: true })
  const planted = Array.from({ length: 4 }, () => `planted-${randomBytes(16).toString('hex')}`)
  const [env = '', npm = '', log = '', git = ''] = planted
  await writeFile(join(context, '.env'), `DROVER_ADMIN_TOKEN=${env}\n`)
  await appendFile(join(context, '.npmrc'), `//registry.invalid/:_authToken=${npm}\n`)
  await writeFile(join(context, 'src', 'standalone', 'postgres.log'), `${log}\n`)
  await mkdir(join(context, '.git'))
  await writeFile(join(context, '.git', 'config'), `[http]\n\textraHeader = Authorization: ${git}\n`)
  return { context, planted }
}

/** Asks the API of a scene as its administrator. */
export const askApi = async <Answer>(scene: Scene, path: string, init: RequestInit = {}): Promise<Answer> => {
  const token = readFileSync(join(scene.secrets, 'admin_token'), 'utf8').trim()
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': crypto.randomUUID(),
  }
  const response = await fetch(`${scene.address}${path}`, {
    headers,
    signal: AbortSignal.timeout(10_000),
    ...init,
  })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Answer
}

/** Waits until the API says that work can flow. */
export const workCanFlow = (scene: Scene) =>
  until(async () => (await fetch(`${scene.address}/readyz`, { signal: AbortSignal.timeout(5_000) })).ok, {
    what: 'the API to say that work can flow',
    withinMs: 120_000,
    everyMs: 250,
  }).catch(async (error: Error) => {
    throw new Error(`${error.message}\n${await scene.fleet.logs()}`)
  })
