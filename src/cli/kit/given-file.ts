import { readFileSync } from 'node:fs'
import { whyUnreadable } from '../../unreadable.ts'
import { UsageError } from './command.ts'

/** A file that a person names on the command line. */
export interface GivenFile {
  /** What names it: `--key`, `<file>`. */
  readonly option: string
  /** What it has to hold, and where that comes from: a sentence, said when there is none. */
  readonly holds: string
  /** Whether `-` is standard input. */
  readonly orStdin?: boolean
}

/** What the file holds. One that cannot be read is a mistake of the person: the option, the reason, and what to give. */
export const readGiven = (path: string, { option, holds, orStdin }: GivenFile): string => {
  try {
    return readFileSync(orStdin && path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw new UsageError(`${option}: ${path} cannot be read: ${whyUnreadable(error)}.`, holds)
  }
}

/** The public key that vouches for certificates and heads. */
export const keyFile: GivenFile = {
  option: '--key',
  holds:
    'It is a file with the public key, which drover signing-keys --pem prints: drover signing-keys --pem > drover.pem',
}
