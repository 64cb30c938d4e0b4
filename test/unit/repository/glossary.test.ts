import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { codeFiles, readSource, repositoryFiles, withoutComments } from './sources.ts'

/**
 * Words that were riddles to a new reader, each with the word that took its place. Stored values, event types, settings
 * and reasons keep theirs: they are strings, which programs compare.
 */
const retired: Readonly<Record<string, string>> = {
  journey: 'entry work',
  wish: 'request, desired operation',
  wishes: 'requests, resumptions',
  tally: 'metrics, counts',
  'come back': 'resumption',
  'coming back': 'resumption',
  'after end': 'operation followups',
  'ask each': 'desired operation',
  'beside machine': 'non-blocking effects',
  'let go': 'settled, handed back',
  'lets go': 'settled',
  'letting go': 'still active',
  'keeps on': 'still active',
  'await older': 'await still active',
  'awaits older': 'awaits still active',
  'older seen': 'still active operation',
  'older wait': 'still active wait',
  'in line': 'slot wait',
  patient: 'retry until deadline, tolerant',
  patience: 'time limit',
  'own work': 'undo task',
  wary: 'redacted',
  'batch answer': 'batch view',
  'batch change': 'batch edit',
  'batch check': 'batch validation',
  'batch actions': 'batch verbs',
  'batch members': 'batch instances',
  'batch removal': 'batch deletion',
}

/** Names of columns and fields of the API as the code has them: what is stored keeps its name. */
const storedNames: readonly string[] = ['inLine', 'inLineSince', 'in_line_since', 'comeBackAt']

/** `noteOlderKeepsOn`, `await-older.ts` and `AFTER_END` as words: "note older keeps on". */
const wordsOf = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[-_.$#]+/g, ' ')
    .toLowerCase()

const retiredIn = (name: string): string[] =>
  storedNames.includes(name)
    ? []
    : Object.entries(retired)
        .filter(([word]) => ` ${wordsOf(name)} `.includes(` ${word} `))
        .map(([word, better]) => `${name}: write "${better}" instead of "${word}"`)

/** Texts are for people and stored values for programs; both are judged elsewhere. */
const withoutTexts = (source: string): string =>
  withoutComments(source)
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
    .replace(/`[^`]*`/g, (text) => [...text.matchAll(/\$\{([^}]*)\}/g)].map(([, code]) => code).join(' '))

const identifiersOf = (source: string): string[] => [
  ...new Set(withoutTexts(source).match(/[A-Za-z_$][\w$]*/g)),
]

const isOurs = (path: string): boolean =>
  /^(src|workers|db)\//.test(path) && !path.startsWith('db/migrations/')

test('no file name uses a word that was retired', () => {
  const names = repositoryFiles.filter(isOurs)
  expect(names.length).toBeGreaterThan(500)
  expect(names.flatMap((path) => retiredIn(basename(path)).map((why) => `${path}: ${why}`))).toEqual([])
})

test('no identifier uses a word that was retired', () => {
  const files = codeFiles.filter(isOurs)
  const found = files.flatMap((path) =>
    identifiersOf(readSource(path)).flatMap((name) => retiredIn(name).map((why) => `${path}: ${why}`)),
  )
  expect(found).toEqual([])
})

test('a retired word is found in a file name and in an identifier, and not in a longer word, a text or a comment', () => {
  expect(retiredIn('await-older.ts')).toHaveLength(1)
  expect(retiredIn('enterJourney')).toEqual(['enterJourney: write "entry work" instead of "journey"'])
  expect(retiredIn('findFolderPath')).toEqual([])
  expect(retiredIn('inLineSince')).toEqual([])
  expect(retiredIn('onlineInlines')).toEqual([])
  const source = [
    "const said = 'older-keeps-on' // a journey",
    `/** keepsOn */ const sql = \`select wish from t where id = \${tally.id}\``,
  ].join('\n')
  expect(identifiersOf(source).flatMap(retiredIn)).toEqual([
    'tally: write "metrics, counts" instead of "tally"',
  ])
})

/** Words with a meaning of our own that the code, the API and the documents use on purpose. */
const kept = [
  ...['bell', 'ring', 'lane', 'entry', 'site', 'debt', 'turn', 'token', 'lease', 'epoch', 'effect', 'intent'],
  ...['relay', 'conductor', 'guard', 'block', 'conflict', 'withdraw', 'supersede', 'settled', 'still active'],
  ...[
    'slot wait',
    'resumption',
    'past return',
    'safe point',
    'fenced',
    'facts',
    'seal',
    'head',
    'lab',
    'port',
  ],
]

test('the glossary explains every word that Drover uses in a meaning of its own', () => {
  const words = [...readSource('docs/glossary.md').matchAll(/^\| ([^|]+?) \|/gm)].map(([, word = '']) =>
    word.replace(/ \(.*\)$/, ''),
  )
  expect(words.length).toBeGreaterThan(60)
  expect(kept.filter((word) => !words.includes(word))).toEqual([])
})
