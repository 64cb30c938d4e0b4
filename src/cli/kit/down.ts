import { type DownVerb, downBefore } from '../../domain/migration/batch/downtime.ts'
import type { Json } from './client.ts'
import type { Call } from './command.ts'
import type { Line } from './output.ts'

/** Who is off because of a batch, as the API tells of it. */
export interface DownSeen {
  readonly count: number
  readonly message: string
}

export const nobodyDown = 'No machine is off because of a migration.'

/** The first thing that is said of a batch: who is off, and for each why and until when. */
export const downLines = (down: unknown): readonly Line[] => {
  const { count, shutting_down, message, entries } = down as DownSeen & {
    readonly shutting_down: number
    readonly entries: readonly Json[]
  }
  if (count === 0) return []
  return [
    [count === shutting_down ? 'still runs' : 'off now', message],
    ...entries.map(
      ({ instance, shutdown, because }) => [`${shutdown ? 'asked' : 'off'} ${instance}`, because] as const,
    ),
  ]
}

/** After a verb: who is off, and what the verb makes of them. */
export const sayDown = ({ output }: Call, down: unknown, verb: DownVerb): void => {
  const text = downBefore(verb, down as DownSeen)
  if (text !== '') output.line(text)
}
