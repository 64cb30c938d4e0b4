import type { Clock } from '../clock.ts'
import type { Terminal } from '../terminal.ts'
import type { Ask } from './local-api.ts'
import { entryLine, isSettled, type WaveEntry, type WaveSeen, waveBlock } from './wave-lines.ts'

const lookMs = 400
/** A wave that takes longer is left to the console; the machine may be a slow one. */
const patienceMs = 5 * 60_000

export interface FollowWaveOptions {
  readonly ask: Ask
  readonly name: string
  readonly terminal: Terminal
  readonly clock: Clock
  readonly signal: AbortSignal
}

export const readWave = async (ask: Ask, name: string): Promise<WaveSeen> => {
  const [batch, queue] = await Promise.all([
    ask<Omit<WaveSeen, 'entries'>>(`GET /v1/batches/${name}`),
    ask<{ items: readonly WaveEntry[] }>(`GET /v1/queue?batch=${name}&limit=100`),
  ])
  const { state, progress } = batch.body
  return { name, state, progress, entries: queue.body.items }
}

/**
 * Shows how a wave goes on until only a person can take it further: a block that moves on a terminal, a line for each
 * machine that has ended elsewhere. Gives how it stands then.
 */
export const followWave = async (options: FollowWaveOptions): Promise<WaveSeen> => {
  const { ask, name, terminal, clock, signal } = options
  const beganMs = clock.monotonicMs()
  const said = new Set<string>()
  for (;;) {
    signal.throwIfAborted()
    const wave = await readWave(ask, name)
    const tookMs = clock.monotonicMs() - beganMs
    terminal.live(...waveBlock(wave, tookMs))
    if (!terminal.isLive) sayEnded(wave, said, terminal)
    const over = wave.state !== 'running' || (wave.entries.length > 0 && wave.entries.every(isSettled))
    if (over || tookMs > patienceMs) {
      terminal.live('')
      if (terminal.isLive) sayEnded(wave, said, terminal)
      return wave
    }
    await clock.sleep(lookMs, signal)
  }
}

const sayEnded = (wave: WaveSeen, said: Set<string>, terminal: Terminal): void => {
  for (const entry of wave.entries) {
    if (!isSettled(entry) || said.has(entry.id)) continue
    said.add(entry.id)
    terminal.line(`  ${entryLine(entry)}`)
  }
}
