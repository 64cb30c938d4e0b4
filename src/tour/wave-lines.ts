import { bar } from '../cli/kit/output.ts'
import { type EntryState, goesOnByItself } from '../domain/migration/entry/entry.ts'
import { printable } from '../print/printable.mjs'
import { droverCommand } from './drover-command.ts'

/** An entry of the wave, as far as the start shows it. */
export interface WaveEntry {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly message: string
  readonly running: boolean
  readonly progress: {
    readonly bytes_done: number
    readonly bytes_total: number
    readonly bytes_per_second: number | null
  } | null
  readonly created_at: string
  readonly finished_at: string | null
}

export interface WaveSeen {
  readonly name: string
  readonly state: string
  readonly entries: readonly WaveEntry[]
  readonly progress: {
    readonly bytes_done: number
    readonly bytes_total: number
    readonly bytes_per_second: number
  }
}

/** Nothing more happens to it by itself, at least not soon: of a block nobody knows. */
export const isSettled = ({ state }: Pick<WaveEntry, 'state'>): boolean =>
  state === 'blocked' || !goesOnByItself(state as EntryState)

const stateWords: Readonly<Record<string, string>> = {
  waiting: 'waits for its place',
  creating: 'its machine is made',
  'background-import': 'copied while it runs',
  idle: 'copied; waits for its cutover',
  'final-import': 'switched off; the last copy',
  'post-import': 'fitted to its target',
  'worker-done': 'started and proved',
  conflict: 'waits for you',
  blocked: 'cannot be placed',
}

const nameWidth = 10
const barWidth = 16
/** Everything that moves, one line each, and the whole below: for a terminal. Pure. */
export const waveBlock = (wave: WaveSeen, tookMs: number): string[] => [
  ...wave.entries.map((entry) => `  ${liveLine(entry)}`.trimEnd()),
  wholeLine(wave, tookMs),
]

const liveLine = (entry: WaveEntry): string => {
  if (isSettled(entry)) return entryLine(entry)
  return [printable(entry.name).padEnd(nameWidth), barOf(entry), wordsOf(entry)].join('  ')
}

/** What became of one machine, in a line. */
export const entryLine = (entry: WaveEntry): string =>
  [
    printable(entry.name).padEnd(nameWidth),
    entry.state === 'finished' ? finishedText(entry) : `${wordsOf(entry)}: ${entry.message}`,
  ].join('  ')

const finishedText = ({ running, created_at: from, finished_at: to }: WaveEntry): string => {
  const took = to === null ? '' : ` in ${seconds(Date.parse(to) - Date.parse(from))}`
  return `finished${took}: proved, and ${running ? 'runs' : 'off as it was'}`
}

const wordsOf = ({ state }: WaveEntry): string => stateWords[state] ?? state

const barOf = ({ state, progress }: WaveEntry): string =>
  // What is proved is counted in another way than what is copied.
  bar(state === 'creating' ? 0 : (progress?.bytes_done ?? 0), progress?.bytes_total ?? 0, barWidth)

const wholeWords: Readonly<Record<string, readonly [one: string, more: string]>> = {
  conflict: ['waits for you', 'wait for you'],
  blocked: ['cannot be placed', 'cannot be placed'],
  error: ['failed', 'failed'],
}

const wholeLine = ({ entries, progress }: WaveSeen, tookMs: number): string => {
  const counts = [
    `${count(entries, 'finished')} of ${entries.length} finished`,
    ...['conflict', 'blocked', 'error', 'canceled'].flatMap((state) => {
      const found = count(entries, state)
      const words = wholeWords[state]?.[found === 1 ? 0 : 1] ?? state
      return found === 0 ? [] : [`${found} ${words}`]
    }),
    `${sizeText(progress.bytes_done)} of ${sizeText(progress.bytes_total)} copied`,
    ...(progress.bytes_per_second > 0 ? [`${sizeText(progress.bytes_per_second)}/s`] : []),
    seconds(tookMs),
  ]
  return `Wave: ${counts.join(', ')}`
}

const count = (entries: readonly WaveEntry[], state: string): number =>
  entries.filter((entry) => entry.state === state).length

/** How the wave stands at the end, and what is left to a person, with the words to type. */
export const waveEndLines = (
  wave: WaveSeen,
  options: { readonly address: string; readonly tookMs: number | undefined },
): string[] => {
  const { address, tookMs } = options
  const waiting = wave.entries.filter(({ state }) => state === 'conflict')
  const finished = count(wave.entries, 'finished')
  const drover = droverCommand()
  // A person has reset it: its machines are where they went, and it can be started again.
  if (wave.entries.length === 0)
    return [`Wave ${wave.name} has no machines in its queue now`, `  ${address}/batches/${wave.name}`]
  return [
    `Wave ${wave.name}: ${finished} of ${wave.entries.length} machines migrated${
      tookMs === undefined ? '' : ` in ${seconds(tookMs)}`
    }; each has a certificate`,
    `  ${address}/batches/${wave.name}`,
    ...(waiting.length === 0
      ? []
      : ['', `${waiting.length === 1 ? 'One waits' : `${waiting.length} wait`} for you, on purpose`]),
    ...waiting.flatMap(({ id, name, message }) => [
      `  ${name}: ${message}`,
      `    look     ${address}/queue/${id}`,
      `    decide   ${drover} queue resolve ${id}`,
    ]),
    ...(waiting.length === 0 ? [] : [`  Then watch  ${drover} queue list --batch ${wave.name}`]),
  ]
}

const seconds = (ms: number): string => `${Math.max(0, Math.round(ms / 1_000))} s`

const sizeText = (bytes: number): string => {
  const mib = bytes / 2 ** 20
  return mib >= 1_024
    ? `${(mib / 1_024).toFixed(1)} GiB`
    : `${mib < 10 ? mib.toFixed(1) : Math.round(mib)} MiB`
}
