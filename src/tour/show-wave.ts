import type { Client } from '../cli/kit/client.ts'
import { pathOf } from '../cli/kit/rows.ts'
import type { Terminal } from '../print/terminal.ts'
import { standingOfWave, startWave, type WaveParts, waveName } from './start-wave.ts'
import { entryLine, isSettled, type WaveEntry, type WaveSeen, waveBlock, waveEndLines } from './wave-lines.ts'

const lookMs = 400
/** A wave that takes longer is left to the console; the machine may be a slow one. */
const waitLimitMs = 5 * 60_000

export interface ShowWaveOptions extends WaveParts {
  readonly terminal: Terminal
  readonly signal: AbortSignal
  readonly address: string
}

/**
 * Migrates a wave of the lab and shows how; once in the life of an installation. Later starts tell how it stands, and
 * go on showing one that was cut short. Never throws but when told to stop.
 */
export const showWave = async (options: ShowWaveOptions): Promise<void> => {
  const { terminal, signal, address } = options
  try {
    await show(options)
  } catch (error) {
    terminal.live('')
    if (signal.aborted) return
    terminal.line(`The wave cannot be shown: ${(error as Error).message}`)
    terminal.line(`  ${address}/batches`)
  }
  terminal.line()
}

const show = async (options: ShowWaveOptions): Promise<void> => {
  const { client, terminal, address } = options
  const standing = await standingOfWave(options)
  if (standing === 'removed') return
  const beganMs = performance.now()
  if (standing !== 'there') {
    terminal.line(
      'A wave of 12 machines is migrated from lab-vcenter to lab-cloud now; Ctrl-C is safe at any time.',
    )
    await startWave(options, standing)
  }
  const before = await readWave(client)
  const goesOn = !isOver(before)
  if (goesOn && standing === 'there') terminal.line(`The wave ${waveName} goes on where it was.`)
  const wave = goesOn ? await followWave(client, terminal) : before
  const tookMs = standing === 'there' ? undefined : performance.now() - beganMs
  terminal.line()
  for (const line of waveEndLines(wave, { address, tookMs })) terminal.line(line)
}

const readWave = async (client: Client): Promise<WaveSeen> => {
  const [{ state, progress }, { items }] = await Promise.all([
    client.get<Omit<WaveSeen, 'entries'>>(pathOf('batches', waveName)),
    client.get<{ items: readonly WaveEntry[] }>('/v1/queue', { batch: waveName, limit: 100 }),
  ])
  return { name: waveName, state, progress, entries: items }
}

/** Only a person can take it further. */
const isOver = ({ state, entries }: WaveSeen): boolean =>
  state !== 'running' || (entries.length > 0 && entries.every(isSettled))

/**
 * Shows how the wave goes on until it is over: a block that moves on a terminal, a line for each machine that has
 * ended elsewhere. Gives how it stands then.
 */
const followWave = async (client: Client, terminal: Terminal): Promise<WaveSeen> => {
  const beganMs = performance.now()
  const said = new Set<string>()
  for (;;) {
    const wave = await readWave(client)
    const tookMs = performance.now() - beganMs
    terminal.live(...waveBlock(wave, tookMs))
    if (!terminal.isLive) sayEnded(wave, said, terminal)
    if (isOver(wave) || tookMs > waitLimitMs) {
      terminal.live('')
      if (terminal.isLive) sayEnded(wave, said, terminal)
      return wave
    }
    await client.sleep(lookMs)
  }
}

const sayEnded = ({ entries }: WaveSeen, said: Set<string>, terminal: Terminal): void => {
  for (const entry of entries.filter((one) => isSettled(one) && !said.has(one.id))) {
    said.add(entry.id)
    terminal.line(`  ${entryLine(entry)}`)
  }
}
