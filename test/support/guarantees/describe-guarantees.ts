import { fillPage } from '../../../src/domain/table/fill-page.ts'
import { type PromiseChapter, promiseChapters } from './promises.ts'
import { taggedTests } from './tagged-tests.ts'

export interface TestFile {
  readonly path: string
  readonly text: string
}

interface Proof {
  readonly path: string
  readonly title: string
}

/** The tests of each promise, by the id of the promise. Throws when a tag names an unknown promise. */
const proofsOf = (chapters: readonly PromiseChapter[], files: readonly TestFile[]): Map<string, Proof[]> => {
  const proofs = new Map<string, Proof[]>(
    chapters.flatMap(({ promises }) => Object.keys(promises).map((id): [string, Proof[]] => [id, []])),
  )
  if (proofs.size < chapters.flatMap(({ promises }) => Object.keys(promises)).length)
    throw new Error('Two promises have the same id.')
  for (const { path, text } of files) {
    for (const { promise, title } of taggedTests(path, text)) {
      const known = proofs.get(promise)
      if (known === undefined) throw new Error(`${path}: promises.ts has no promise "${promise}".`)
      known.push({ path, title })
    }
  }
  return proofs
}

/** Each promise with its tests, as tables. Throws when a promise has no test. */
export const describeGuarantees = (
  files: readonly TestFile[],
  chapters: readonly PromiseChapter[] = promiseChapters,
): string => {
  const proofs = proofsOf(chapters, files)
  const unproved = [...proofs].filter(([, tests]) => tests.length === 0).map(([id]) => id)
  if (unproved.length > 0) throw new Error(`No test is tagged with ${unproved.join(', ')}.`)
  return chapters
    .map(({ title, about, promises }) =>
      [
        `## ${title}`,
        about,
        '',
        '| What holds | Tests that try to break it |',
        '|---|---|',
        ...Object.entries(promises).map(([name, text]) => promiseRow(text, proofs.get(name) ?? [])),
      ].join('\n'),
    )
    .join('\n\n')
}

const promiseRow = (text: string, proofs: readonly Proof[]): string => {
  const paths = [...new Set(proofs.map(({ path }) => path))]
  const cells = paths.map((path) => {
    const titles = proofs.filter((proof) => proof.path === path).map(({ title }) => quoted(title))
    return `[${path.slice('test/'.length)}](../${path}): ${titles.join(', ')}`
  })
  return `| ${text} | ${cells.join('<br>')} |`
}

/** A test's name in a table, where signs of Markdown are only letters; "…" is what differs from case to case. */
const quoted = (title: string): string =>
  `"${title.replace(/\$\{[^}]*\}/g, '…').replace(/[\\|*_<>`]/g, '\\$&')}"`

/** docs/guarantees.md with its made part as it should be. */
export const fillGuaranteesPage = (page: string, files: readonly TestFile[]): string =>
  fillPage(page, { promises: describeGuarantees(files) })
