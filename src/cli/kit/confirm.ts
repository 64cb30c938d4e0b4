import { ApiRefusal } from './client.ts'
import { type Call, flag, number, numberOf, type Options, UsageError } from './command.ts'
import type { Keyboard } from './password.ts'

export const yesOption = flag('do it without asking')

const answerBytes = 1_024

/**
 * Says what is about to happen and goes on when a person at the terminal says yes, or has said `--yes`. Where nobody
 * can be asked nothing is done: the line that does it has to say `--yes`.
 */
export const confirm = async (call: Call, text: string): Promise<void> => {
  if (call.values.yes === true) return
  const { stdin } = call.io
  if (!stdin?.isTTY) throw new UsageError(text, 'Add --yes to do it.')
  await ask(call, stdin, text)
}

/** The same for what a script may do unasked: only a person is asked. No text: there is nothing to ask about. */
export const confirmIfPerson = async (call: Call, read: () => Promise<string>): Promise<void> => {
  const { stdin } = call.io
  if (call.values.yes === true || !stdin?.isTTY) return
  const text = await read()
  if (text !== '') await ask(call, stdin, text)
}

const ask = async ({ output }: Call, stdin: Keyboard, text: string): Promise<void> => {
  output.warn(text)
  output.prompt('Go on? [y/N] ')
  const answer = (await readLine(stdin)).trim().toLowerCase()
  if (answer !== 'y' && answer !== 'yes') throw new UsageError('Nothing was done.')
}

const readLine = async (stdin: Keyboard): Promise<string> => {
  let line = ''
  for await (const chunk of stdin) {
    line += String(chunk)
    if (line.includes('\n') || line.length > answerBytes) break
  }
  return line.split('\n', 1)[0] ?? ''
}

export const confirmOptions: Options = {
  confirm: number('how many finished migrations may be forgotten; refused when there are more or fewer'),
  yes: flag('do it without asking, however many they are'),
}

/** Refusals that say how many are concerned, and end with that number confirmed. */
const asksForCount = new Set(['finished-not-confirmed', 'destroy-not-confirmed'])

/**
 * Sends what may forget finished migrations, or destroy templates. The API says how many there are before it does: they
 * are confirmed by number, all of them with --yes, or by a person who is asked.
 */
export const confirmCount = async <Answer>(
  call: Call,
  send: (confirmed: number | undefined) => Promise<Answer>,
): Promise<Answer> => {
  const confirmed = numberOf(call.values, 'confirm')
  try {
    return await send(confirmed)
  } catch (error) {
    const asks = error instanceof ApiRefusal && asksForCount.has(error.code)
    if (!asks || error.matched === undefined) throw error
    if (call.values.yes !== true && !call.io.stdin?.isTTY)
      throw new UsageError(`${error.message} Add --confirm ${error.matched}, or --yes.`)
    await confirm(call, error.message)
    return await send(error.matched)
  }
}
