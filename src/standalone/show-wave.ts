import type { Terminal } from '../terminal.ts'
import { followWave, readWave } from './follow-wave.ts'
import { standingOfWave, startWave, type WaveParts, waveName } from './lab-wave.ts'
import { isSettled, waveEndLines } from './wave-lines.ts'

export interface ShowWaveOptions extends WaveParts {
  readonly terminal: Terminal
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
  const { ask, terminal, clock, address, signal } = options
  const standing = await standingOfWave(options)
  if (standing === 'removed') return
  const beganMs = clock.monotonicMs()
  if (standing !== 'there') {
    terminal.line(
      'A wave of 12 machines is migrated from lab-vcenter to lab-cloud now; Ctrl-C is safe at any time.',
    )
    await startWave(options, standing)
  }
  const before = await readWave(ask, waveName)
  const goesOn = before.state === 'running' && !(before.entries.length > 0 && before.entries.every(isSettled))
  if (goesOn && standing === 'there') terminal.line(`The wave ${waveName} goes on where it was.`)
  const wave = goesOn ? await followWave({ ask, name: waveName, terminal, clock, signal }) : before
  const tookMs = standing === 'there' ? undefined : clock.monotonicMs() - beganMs
  terminal.line()
  for (const line of waveEndLines(wave, { address, tookMs })) terminal.line(line)
}
