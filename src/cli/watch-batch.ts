import type { Json } from './client.ts'
import { type Call, exitCodes } from './command.ts'
import { pathOf } from './commands/lists.ts'
import { spanText } from './output.ts'
import { progressBar } from './progress-bar.ts'

const lookMs = 1_000
const settled = new Set(['finished', 'error', 'canceled', 'conflict', 'blocked'])

/** How many entries go on by themselves. */
const underWay = (entries: Json): number =>
  Object.entries(entries).reduce((sum, [state, count]) => (settled.has(state) ? sum : sum + Number(count)), 0)

const lineOf = (batch: Json): string => {
  const { bytes_done, bytes_total, bytes_per_second, eta_seconds } = batch.progress as Json
  const [done, total] = [Number(bytes_done) / 2 ** 20, Number(bytes_total) / 2 ** 20]
  const [bar] = progressBar(Math.round(done), Math.round(total), 0).split(' MiB')
  const rate = (Number(bytes_per_second) / 2 ** 20).toFixed(1)
  const eta = eta_seconds === null ? '' : `  ETA ${spanText(Number(eta_seconds) * 1_000)}`
  const counts = Object.entries(batch.entries as Json).map(([state, count]) => `${count} ${state}`)
  return `${bar?.replace(/ {2}0\.0\/s$/, '')} MiB  ${rate} MiB/s${eta}  ${counts.join(', ')}`
}

/** Shows how a batch goes on, on a terminal; ends when only a person can take it further. */
export const followBatch = async (call: Call, name: string): Promise<number> => {
  const { client, output } = call
  for (;;) {
    const batch = await client.get(pathOf('batches', name))
    const entries = batch.entries as Json
    if (batch.state !== 'running' || underWay(entries) === 0) {
      output.live('')
      output.show(batch, () => sayEnd(call, batch))
      const { finished = 0, ...others } = entries as Record<string, number>
      const left = Object.values(others).reduce((sum, count) => sum + count, 0)
      return Number(finished) > 0 && left === 0 ? exitCodes.ok : exitCodes.failed
    }
    output.live(lineOf(batch))
    await client.sleep(lookMs)
  }
}

const sayEnd = ({ output }: Call, batch: Json): void => {
  const counts = Object.entries(batch.entries as Json).map(([state, count]) => `${count} ${state}`)
  output.line(`The batch ${batch.name} is ${batch.state}: ${counts.join(', ') || 'no entries'}.`)
  if (Number((batch.entries as Json).conflict ?? 0) > 0)
    output.line(`Decide about the conflicts: drover queue list --batch ${batch.name} --state conflict`)
}
