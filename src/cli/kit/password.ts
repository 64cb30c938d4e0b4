import { type Call, flag, UsageError } from './command.ts'

/** A person at a keyboard; the part of a terminal's stdin that is needed. */
export interface Keyboard extends AsyncIterable<Buffer | string> {
  readonly isTTY?: boolean
  setRawMode?(raw: boolean): unknown
}

const bytesMax = 8 * 1024

/** There is no option that takes the password itself: arguments are seen by everybody on the machine. */
export const passwordOption = flag(
  'read the password from standard input; else from DROVER_SITE_PASSWORD, else you are asked',
)

/** The password, by the safest way that was chosen. `question` is shown to a person at a terminal. */
export const readPassword = async (call: Call, question: string): Promise<string> => {
  const { io, output, values } = call
  if (values['password-stdin'] === true) return await readAll(io.stdin)
  if (io.env.DROVER_SITE_PASSWORD) return io.env.DROVER_SITE_PASSWORD
  if (!io.stdin?.isTTY || !io.stdin.setRawMode)
    throw new UsageError('The password is needed: --password-stdin, or DROVER_SITE_PASSWORD.')
  output.prompt(question)
  try {
    return await readHidden(io.stdin)
  } finally {
    output.warn('')
  }
}

const readAll = async (stdin: Keyboard | undefined): Promise<string> => {
  let text = ''
  for await (const chunk of stdin ?? []) {
    text += String(chunk)
    if (text.length > bytesMax) throw new UsageError('That is too long for a password.')
  }
  const password = text.replace(/\r?\n$/, '')
  if (password === '') throw new UsageError('Standard input holds no password.')
  return password
}

const [enter, interrupt, endOfFile, backspace, erase] = ['\r', '\u0003', '\u0004', '\u007f', '\b']

/** Reads a line without showing it. */
const readHidden = async (stdin: Keyboard): Promise<string> => {
  stdin.setRawMode?.(true)
  let password = ''
  try {
    for await (const chunk of stdin)
      for (const key of String(chunk)) {
        if (key === enter || key === '\n' || key === endOfFile) return password
        if (key === interrupt) throw new UsageError('Interrupted; nothing was changed.')
        password = key === backspace || key === erase ? password.slice(0, -1) : password + key
        if (password.length > bytesMax) throw new UsageError('That is too long for a password.')
      }
    return password
  } finally {
    stdin.setRawMode?.(false)
  }
}
