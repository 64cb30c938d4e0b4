import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { processIsThere } from '../../src/standalone/process-identity.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const results = join(root, 'test-results')
const prefix = 'roles-'

/** What `up` starts its roles with. */
const ownProgram = "new URL('../roles/drover.mjs', import.meta.url)"

/**
 * Every file keeps the place it has in the repository: assets, migrations and threads are found from there. The roles
 * alone are started from here.
 */
const whereTheyAre = (main: string): Plugin => ({
  name: 'where-they-are',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.ts$/, namespace: 'file' }, async ({ path }) => ({
      loader: 'ts',
      contents: (await readFile(path, 'utf8'))
        .replace(ownProgram, JSON.stringify(pathToFileURL(main).href))
        .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
        .replaceAll('import.meta.filename', JSON.stringify(path)),
    }))
  },
})

/** Packages that look for files beside their own code, or are another thing when bundled. The others are taken in: hundreds of files less to open. */
const readsItsOwnFiles = [
  '@bull-board/*',
  '@jitl/*',
  '@opentelemetry/*',
  'pino',
  'piscina',
  'quickjs-emscripten-core',
  'tsx',
]
const requireForPackages =
  "import { createRequire as requireFrom } from 'node:module'\nconst require = requireFrom(import.meta.url)"

/** What a run that was killed could not take away. */
const removeLeft = (): void => {
  const left = readdirSync(results, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name.startsWith(prefix))
    .filter((entry) => !processIsThere(Number(entry.name.slice(prefix.length))))
  for (const entry of left) rmSync(join(results, entry.name), { recursive: true, force: true })
}

const nodeRunsTypeScript = (): boolean => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 18)
}

export interface BuiltRoles {
  /** What `node` runs, with the role's name behind it. */
  readonly main: string
  readonly remove: () => void
}

/**
 * The roles, translated once for the whole run. Where Node cannot read TypeScript by itself a role takes four
 * seconds of a processor to start, three of them for tsx; the tests start a thousand roles. What people run
 * (`npm start`, the command line) is tested as they run it.
 */
export const buildRoles = async (run: string): Promise<BuiltRoles> => {
  if (nodeRunsTypeScript()) return { main: join(root, 'src/roles/main.ts'), remove: () => undefined }
  mkdirSync(results, { recursive: true })
  removeLeft()
  // Below the root, because packages are found from there.
  const outdir = join(results, `${prefix}${run}`)
  const main = join(outdir, 'roles.mjs')
  await build({
    stdin: {
      contents: "import { main } from './src/roles/main.ts'\nawait main(process.argv.slice(2))\n",
      resolveDir: root,
      sourcefile: 'roles.ts',
    },
    outdir,
    outExtension: { '.js': '.mjs' },
    entryNames: 'roles',
    bundle: true,
    splitting: true,
    external: readsItsOwnFiles,
    banner: { js: requireForPackages },
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'warning',
    plugins: [whereTheyAre(main)],
  })
  return { main, remove: () => rmSync(outdir, { recursive: true, force: true }) }
}
