import type { Client } from '../cli/kit/client.ts'
import { printable } from '../print/printable.mjs'
import type { Terminal } from '../print/terminal.ts'

/** Machines that are off because of a migration, as the API lists them. */
export interface DownSeen {
  readonly count: number
  readonly head: string
  readonly entries: readonly { readonly instance: string; readonly times: string; readonly because: string }[]
}

/** Who is off, since when, and what brings each back; nothing where nobody is. Pure. */
export const startDownLines = ({ count, head, entries }: DownSeen): string[] => {
  if (count === 0) return []
  const more = count - entries.length
  return [
    `${head}:`,
    ...entries.map(
      ({ instance, times, because }) => `  ${printable(instance)}: ${times}. ${printable(because)}`,
    ),
    ...(more > 0 ? [`  and ${more} more: drover down`] : []),
    '',
  ]
}

/** Said at every start: after a crash nobody else says it. Never throws: the fleet serves all the same. */
export const showDown = async (client: Client, terminal: Terminal): Promise<void> => {
  try {
    for (const line of startDownLines(await client.get<DownSeen>('/v1/down'))) terminal.line(line)
  } catch (error) {
    terminal.line(`Which machines are off for a migration cannot be told: ${(error as Error).message}`)
  }
}
