/** The words that may stand behind a command. What stands behind `--repair-seals` is for the repair. */
const known: Readonly<Record<string, readonly string[]>> = {
  up: ['--lost-key', '--no-rekey', '--repair-seals'],
  rekey: ['--lost-key'],
}

export interface RoleWords {
  readonly help: boolean
  readonly lostKey: boolean
  readonly noRekey: boolean
  readonly repairSeals: readonly string[] | undefined
  /** The first that nobody knows. A misspelt word must not start anything. */
  readonly unknown: string | undefined
}

export const readRoleWords = (command: string, given: readonly string[]): RoleWords => {
  const repairs = command === 'up' ? given.indexOf('--repair-seals') : -1
  const own = repairs < 0 ? given : given.slice(0, repairs + 1)
  const words = command === 'repair-seals' ? [] : own
  return {
    help: given.some(asksForHelp),
    lostKey: words.includes('--lost-key'),
    noRekey: words.includes('--no-rekey'),
    repairSeals: repairs < 0 ? undefined : given.slice(repairs + 1),
    unknown: words.find((word) => !asksForHelp(word) && !known[command]?.includes(word)),
  }
}

const asksForHelp = (word: string): boolean => word === '--help' || word === '-h'
