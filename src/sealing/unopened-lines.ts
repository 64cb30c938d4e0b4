import type { SealedName } from './sealed-things.ts'

/** What a person can give again, one line a thing with how; then what nobody can, and what that means. */
export const unopenedLines = (unopened: readonly SealedName[]): string[] => [
  ...[...partsOf(unopened.filter(({ remedy }) => remedy !== undefined))].map(
    ([of, { parts, remedy }]) =>
      `Cannot be opened, and must be given again: ${parts.join(' and ')} of ${of}: ${remedy}`,
  ),
  ...unopened.flatMap(({ name, gone }) => (gone === undefined ? [] : [`Lost for good: ${name}; ${gone}`])),
]

const partsOf = (names: readonly SealedName[]): Map<string, { parts: string[]; remedy: string }> => {
  const found = new Map<string, { parts: string[]; remedy: string }>()
  for (const { of, part, remedy = '' } of names) {
    const known = found.get(of) ?? { parts: [], remedy }
    known.parts.push(part)
    found.set(of, known)
  }
  return found
}
