import { expect, test } from 'vitest'
import { codeFiles, readSource } from './repository/sources.ts'

const queries = codeFiles.filter((path) => path.startsWith('db/queries/'))

/** Ends of what a quote or a comment begins, outside of templates. */
const skipped = /\/\/.*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/y

/** Statements of a file (tagged templates), without comments; what is put into them is left out. */
const templatesOf = (text: string): string[] => {
  const found: string[] = []
  let at = 0
  const readTemplate = (): string => {
    let sql = ''
    while (at < text.length && text[at] !== '`') {
      if (text[at] === '\\') at += 1
      if (text.startsWith('${', at)) {
        at += 2
        readCode('}')
        sql += ' ? '
      } else sql += text[at]
      at += 1
    }
    return sql.replaceAll(/--.*$/gm, '')
  }
  const readCode = (end: string): void => {
    for (let depth = 0; at < text.length; at += 1) {
      skipped.lastIndex = at
      const skip = skipped.exec(text)?.[0]
      if (skip) at += skip.length - 1
      else if (text[at] === '`') {
        const isTagged = /[\w>)]/.test(text[at - 1] ?? '')
        at += 1
        const sql = readTemplate()
        if (isTagged) found.push(sql)
      } else if (text[at] === end && depth === 0) return
      else if (text[at] === '{') depth += 1
      else if (text[at] === '}') depth -= 1
    }
  }
  readCode('')
  return found
}

const sentencesIn = (text: string): string[] =>
  templatesOf(text).flatMap((sql) =>
    [...sql.matchAll(/'((?:[^']|'')*)'/g)]
      .map(([, literal = '']) => literal)
      .filter((literal) => /[A-Za-z]{2,} +[A-Za-z]{2,}/.test(literal)),
  )

/** Texts with blanks in them that nobody reads as a sentence. */
const allowed: Readonly<Record<string, string>> = {
  'db/queries/server/describe-schema.ts': 'statements of the dump of the schema',
  'db/queries/server/ensure-logins.ts':
    'statements that are made for each object, and a name of the catalogue',
  'db/queries/effects/clean-ups.ts': 'the name of an effect: installations hold debts under it',
}

test('no statement holds a sentence for people: those are made in src/domain', () => {
  const found = queries.flatMap((path) =>
    path in allowed ? [] : sentencesIn(readSource(path)).map((sentence) => `${path}: ${sentence}`),
  )
  expect(found).toEqual([])
})

test('every exception is still needed', () => {
  expect(Object.keys(allowed).filter((path) => sentencesIn(readSource(path)).length === 0)).toEqual([])
})

test('a sentence in a statement is found, and an interval is none', () => {
  expect(sentencesIn("db`select 'It has failed ' || n || ' times', now() - interval '1 day'`")).toEqual([
    'It has failed ',
  ])
})

/** Statements that write a state of the four tables by a word of their own, and not by the table's. */
const ownStates = (text: string): string[] =>
  templatesOf(text).flatMap((sql) =>
    [...sql.matchAll(/update (?:job|batch|entry|operation)\b((?:(?!\bwhere\b|\bupdate\b)[\s\S])*)/g)]
      .map(([, assignments = '']) => assignments.replaceAll(/\s+/g, ' '))
      .filter((assignments) => /(?:\bset|,) state = (?:'|case)/.test(assignments)),
  )

test('no statement sets a state of a job, batch, entry or operation that it does not take from its table', () => {
  expect(queries.flatMap((path) => ownStates(readSource(path)).map((found) => `${path}: ${found}`))).toEqual(
    [],
  )
  expect(ownStates("db`update job j set bell = 'due',\n  state = 'ready' where j.id = 1`")).toHaveLength(1)
  expect(ownStates("db`update job set state = case when state = 'waiting' then 'ready' end`")).toHaveLength(1)
})
