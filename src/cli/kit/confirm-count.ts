import { ApiRefusal } from './client.ts'
import { type Call, numberOf, type Option, UsageError } from './command.ts'
import { confirm } from './confirm.ts'

export const confirmOptions: Readonly<Record<string, Option>> = {
  confirm: {
    type: 'string',
    value: 'n',
    summary: 'how many finished migrations may be forgotten; refused when there are more or fewer',
  },
  yes: { type: 'boolean', summary: 'do it without asking, however many they are' },
}

/**
 * Sends what may forget finished migrations. The API says how many there are before it forgets any: they are confirmed
 * by number, all of them with --yes, or by a person who is asked.
 */
export const confirmCount = async <Answer>(
  call: Call,
  send: (confirmed: number | undefined) => Promise<Answer>,
): Promise<Answer> => {
  const confirmed = numberOf(call.values, 'confirm')
  try {
    return await send(confirmed)
  } catch (error) {
    const asks = error instanceof ApiRefusal && error.code === 'finished-not-confirmed'
    if (!asks || error.matched === undefined) throw error
    if (call.values.yes !== true && !call.io.stdin?.isTTY)
      throw new UsageError(`${error.message} Add --confirm ${error.matched}, or --yes.`)
    await confirm(call, error.message)
    return await send(error.matched)
  }
}
