import { type EntryState, goesOnByItself } from '../../../domain/migration/entry/entry.ts'
import type { Json } from '../../kit/client.ts'
import { type Call, flag, type Options } from '../../kit/command.ts'
import { progressBar, spanText } from '../../kit/output.ts'
import { codeOf, pathOf } from '../../kit/rows.ts'

const lookMs = 1_000

export const followOptions: Options = {
  'until-blocked': flag('end also when all that is left is blocked'),
}

type Counts = Readonly<Record<string, number>>

const sumOf = (counts: Counts, fits: (state: string) => boolean = () => true): number =>
  Object.entries(counts).reduce((sum, [state, count]) => (fits(state) ? sum + count : sum), 0)

/** How many entries go on by themselves. */
const underWay = (entries: Counts): number => sumOf(entries, (state) => goesOnByItself(state as EntryState))

export const countsText = (entries: unknown): string =>
  Object.entries((entries ?? {}) as Counts)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ')

const lineOf = (batch: Json): string => {
  const { bytes_done, bytes_total, bytes_per_second, eta_seconds } = batch.progress as Json
  const [done, total] = [Number(bytes_done) / 2 ** 20, Number(bytes_total) / 2 ** 20]
  const [bar] = progressBar(Math.round(done), Math.round(total), 0).split(' MiB')
  const rate = (Number(bytes_per_second) / 2 ** 20).toFixed(1)
  const eta = eta_seconds === null ? '' : `  ETA ${spanText(Number(eta_seconds) * 1_000)}`
  const counts = countsText(batch.entries as Counts)
  return `${bar?.replace(/ {2}0\.0\/s$/, '')} MiB  ${rate} MiB/s${eta}  ${counts}`
}

/**
 * Shows how a batch goes on, on a terminal; ends when only a person can take it further. What is blocked goes on by
 * itself once its cause is gone, so it is waited for; whoever cannot, ends with `--until-blocked`.
 */
export const followBatch = async (call: Call, name: string): Promise<number> => {
  const { client, output } = call
  const untilBlocked = call.values['until-blocked'] === true
  let told = false
  for (;;) {
    const batch = await client.get(pathOf('batches', name))
    const entries = batch.entries as Counts
    const { blocked = 0, finished = 0 } = entries
    const onlyBlocked = blocked > 0 && underWay(entries) === blocked
    if (batch.state !== 'running' || underWay(entries) === 0 || (onlyBlocked && untilBlocked)) {
      output.live('')
      output.show(batch, () => sayEnd(call, batch))
      return codeOf(finished > 0 && finished === sumOf(entries))
    }
    if (onlyBlocked && !told) sayBlocked(call, name, blocked)
    told = onlyBlocked
    output.live(lineOf(batch))
    await client.sleep(lookMs)
  }
}

const lookAt = (name: string, state: string): string => `drover queue list --batch ${name} --state ${state}`

/** Nothing moves, and the reason is not on the screen. */
const sayBlocked = ({ output }: Call, name: string, blocked: number): void => {
  output.live('')
  output.note(
    `What is left is blocked (${blocked}) and goes on by itself once its causes are gone: ${lookAt(name, 'blocked')}`,
  )
}

const sayEnd = ({ output }: Call, batch: Json): void => {
  const entries = batch.entries as Counts
  output.line(`The batch ${batch.name} is ${batch.state}: ${countsText(entries) || 'no entries'}.`)
  if (batch.state === 'error') output.line(String(batch.message))
  if ((entries.conflict ?? 0) > 0)
    output.line(`Decide about the conflicts: ${lookAt(String(batch.name), 'conflict')}`)
  if ((entries.blocked ?? 0) > 0) output.line(`See what blocks: ${lookAt(String(batch.name), 'blocked')}`)
}
