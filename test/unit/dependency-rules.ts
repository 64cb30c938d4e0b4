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

/** Programs that put the parts together: nobody else may know all of them. */
const composers =
  /^(src\/main\.ts|workers\/fleet\.ts|src\/(roles|standalone)\/|src\/cli\/drover\.mjs|src\/api\/serve\.ts|src\/ledger\/run-conductor\.ts)/

/** What everybody but the domain may use. */
const ground =
  /^src\/(errors|log|clock|config|config-environment|config-files|telemetry|health|seal|seal-head|seal-places|storable|address-rules|bounded-signal|several-hosts|unreadable)\.ts$/

const rules: readonly Rule[] = [
  { name: 'the domain imports nothing of ours', from: /^src\/domain\//, to: /./, exceptTo: /^src\/domain\// },
  {
    name: 'db imports only the domain and the ground',
    from: /^db\//,
    exceptFrom: /^db\/dump\.ts$/,
    to: /./,
    exceptTo: new RegExp(`^db/|^src/domain/|${ground.source}`),
  },
  {
    name: 'the ledger imports only db, the domain, the ground and what a platform is',
    from: /^src\/ledger\//,
    exceptFrom: /^src\/ledger\/run-conductor\.ts$/,
    to: /./,
    exceptTo: new RegExp(
      `^db/|^src/(domain|ledger)/|^src/platforms/(ports(/[a-z-]+)?|call|platform-error|again)\\.ts$|${ground.source}`,
    ),
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
    exceptFrom: /^(src\/lab\/|src\/main\.ts$|test\/)/,
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
    name: 'only the programs at the top import what starts roles',
    from: /./,
    exceptFrom: new RegExp(`${composers.source}|^test/`),
    to: /^(src\/main\.ts|workers\/fleet\.ts|src\/api\/serve\.ts|src\/ledger\/run-conductor\.ts)$/,
  },
  {
    name: 'the standalone start is used by programs and tests alone',
    from: /./,
    exceptFrom: /^(src\/(standalone|roles|tour)\/|src\/main\.ts$|src\/cli\/kit\/|db\/dump\.ts$|test\/)/,
    to: /^src\/standalone\//,
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
