import { posix } from 'node:path'
import { importsOf, readSource } from './sources.ts'

interface Rule {
  readonly name: string
  readonly from: RegExp
  readonly to: RegExp
  /** Importers that the rule does not mean. */
  readonly exceptFrom?: RegExp
  readonly exceptTo?: RegExp
}

interface Import {
  readonly from: string
  readonly to: string
}

/** What everybody but the domain may use. */
const ground =
  /^src\/(errors|clock|storable|address-rules|bounded-signal|unreadable|crash-point)\.ts$|^src\/(config|process|print|seal)\//

const rules: readonly Rule[] = [
  { name: 'the domain imports nothing of ours', from: /^src\/domain\//, to: /./, exceptTo: /^src\/domain\// },
  {
    name: 'db imports only the domain and the ground',
    from: /^db\//,
    to: /./,
    exceptTo: new RegExp(`^db/|^src/domain/|${ground.source}`),
  },
  {
    name: 'the ledger imports only db, the domain, the ground and what a platform is',
    from: /^src\/ledger\//,
    to: /./,
    exceptTo: new RegExp(`^db/|^src/(domain|ledger|platforms/ports)/|${ground.source}`),
  },
  {
    name: 'inventory knows nothing of migrations',
    from: /^src\/(domain\/)?inventory\//,
    to: /^src\/(domain\/)?(migration|operation)\//,
  },
  {
    name: 'migration knows nothing of operations',
    from: /^src\/(domain\/)?migration\//,
    to: /^src\/(domain\/)?operation\//,
  },
  {
    name: 'templates know nothing of migrations and operations',
    from: /^src\/(domain\/)?template\//,
    to: /^src\/(domain\/)?(migration|operation)\//,
  },
  {
    name: 'what is older than templates knows nothing of them',
    from: /^src\/(domain\/)?(inventory|migration|operation)\//,
    to: /^src\/(domain\/)?template\//,
  },
  {
    name: 'rooms of one subject know no subject that builds on it',
    from: /^src\/(api\/resources|console\/pages|cli\/commands)\/inventory\//,
    // What may be said and asked of an instance hangs on whether a batch holds it; what a removal forgets, on what was
    // migrated.
    exceptFrom: /^src\/api\/resources\/inventory\/(instance-(overrides|verbs)|site-removal)\.ts$/,
    to: /^src\/(domain\/|(api\/resources|console\/pages|cli\/commands)\/)?(migration|operation)\//,
  },
  {
    name: 'platforms and disks know neither the ledger, nor the database, nor the API',
    from: /^src\/(platforms|disks)\//,
    to: /^(src\/(ledger|api|console|cli|standalone)|db|workers)\//,
  },
  {
    name: 'the lab is a data centre of its own: it knows the ground, the facts and its protocol alone',
    from: /^src\/lab\//,
    to: /./,
    exceptTo: new RegExp(
      `^src/lab/|^db/client\\.ts$|^src/domain/|^src/platforms/lab/(protocol|wire-limits)\\.ts$|${ground.source}`,
    ),
  },
  {
    name: 'the lab is reached over HTTP alone, as any data centre is',
    from: /./,
    exceptFrom: /^(src\/(lab|roles)\/|test\/)/,
    to: /^src\/lab\//,
  },
  {
    name: 'the console reaches data through the API alone',
    from: /^src\/console\//,
    to: /^(db|src\/ledger|src\/(inventory|migration|operation))\//,
  },
  { name: 'the API does not import workers', from: /^src\/(api|console)\//, to: /^workers\// },
  { name: 'workers do not import the API', from: /^workers\//, to: /^src\/(api|console|cli)\// },
  {
    name: 'roles put the parts together, and nothing that ships imports a role',
    from: /^(src|workers|db)\//,
    exceptFrom: /^src\/roles\//,
    to: /^src\/roles\//,
  },
  {
    name: 'the standalone start is used by programs and tests alone',
    from: /./,
    exceptFrom: /^(src\/(standalone|supervisor|roles|tour|cli\/kit)\/|test\/)/,
    to: /^src\/(standalone|supervisor)\//,
  },
  {
    name: 'the command line reaches data through the API alone',
    from: /^src\/cli\//,
    to: /^(db|workers|src\/(ledger|api|console|sealing|roles|tour|inventory|migration|operation|platforms|lab))\//,
  },
  {
    name: 'the kit of the command line knows no command',
    from: /^src\/cli\/kit\//,
    to: /^src\/cli\/(?!kit\/)/,
  },
  {
    name: 'the kit of the console knows no page and no button of its own',
    from: /^src\/console\/kit\//,
    to: /^src\/console\/(?!kit\/)/,
  },
  {
    name: 'the tour of a first start asks over HTTP, with the client of the command line',
    from: /^src\/tour\//,
    to: /^(db|workers|src\/(ledger|api|console|sealing|lab))\//,
  },
  {
    name: 'the tour is led by the role that starts everything',
    from: /./,
    exceptFrom: /^(src\/(tour|roles)\/|test\/)/,
    to: /^src\/tour\//,
  },
  { name: 'nothing that ships imports a test', from: /^(src|workers|db)\//, to: /^test\// },
]

/** Every import of one of our files by another. */
export const ourImports = (files: readonly string[], options = { lazyToo: true }): Import[] =>
  files.flatMap((from) =>
    importsOf(readSource(from), options)
      .filter((target) => target.startsWith('.'))
      .map((target) => ({ from, to: posix.join(posix.dirname(from), target) })),
  )

export const breaches = (imports: readonly Import[]): string[] =>
  rules.flatMap((rule) =>
    imports
      .filter(({ from, to }) => rule.from.test(from) && rule.to.test(to))
      .filter(({ from, to }) => !rule.exceptFrom?.test(from) && !rule.exceptTo?.test(to))
      .map(({ from, to }) => `${from} imports ${to}: ${rule.name}`),
  )

/** One circle of imports, as the files on it; empty when there is none. */
export const findCircle = (imports: readonly Import[]): string[] => {
  const targets = new Map<string, string[]>()
  for (const { from, to } of imports) targets.set(from, [...(targets.get(from) ?? []), to])
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return []
    for (const next of targets.get(file) ?? []) {
      const circle = visit(next, [...path, file])
      if (circle.length > 0) return circle
    }
    done.add(file)
    return []
  }
  for (const file of targets.keys()) {
    const circle = visit(file, [])
    if (circle.length > 0) return circle
  }
  return []
}

const folderOf = (path: string): string => posix.dirname(path)

/** The same imports from folder to folder. A folder and one inside it are two. */
export const betweenFolders = (imports: readonly Import[]): Import[] =>
  imports
    .map(({ from, to }) => ({ from: folderOf(from), to: folderOf(to) }))
    .filter(({ from, to }) => from !== to)

/** More files than a person takes in at a glance. */
export const filesMost = 20

/** Folders of more files than that, with their number. */
export const crowdedFolders = (files: readonly string[]): string[] => {
  const counts = new Map<string, number>()
  for (const file of files) counts.set(folderOf(file), (counts.get(folderOf(file)) ?? 0) + 1)
  return [...counts].filter(([, count]) => count > filesMost).map(([folder, count]) => `${folder}: ${count}`)
}
