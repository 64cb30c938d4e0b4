import type { Json } from '../../kit/client.ts'
import { type Line, type Output, when } from '../../kit/output.ts'

export const percentOf = (entry: Json): string => {
  const progress = entry.progress as Json | null
  const total = Number(progress?.bytes_total ?? 0)
  if (!progress || total === 0) return ''
  const percent = Math.floor((Number(progress.bytes_done) / total) * 100)
  return `${percent}%${progress.eta_seconds === null ? '' : `, ${progress.eta_seconds} s left`}`
}

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])

/** Why it is where it is, what ends that, and what a person can do about it. */
const whyLines = (entry: Json): readonly Line[] => [
  ['why', entry.message],
  ['ends when', entry.ends_when],
  ['remedy', entry.remedy],
  ...listOf(entry.reasons).flatMap(({ code, message, remedy, until }): Line[] => [
    [`reason ${code}`, message],
    [`remedy ${code}`, remedy],
    ...when(until, (moment): Line[] => [['tried until', moment]]),
  ]),
  ...when(entry.error as Json | null, ({ code, message, remedy }) => [
    ['error', `${code}: ${message}`],
    ['error remedy', remedy],
  ]),
  ...when(entry.intent as Json | null, ({ verb, force, cleanup }) => [
    [
      'wanted',
      `${verb}${force ? ', forced' : ''}${cleanup ? ', with cleanup' : ''}: once its job has let go`,
    ],
  ]),
  ['next look', entry.next_look_at],
]

const workLines = (entry: Json): readonly Line[] => [
  ...when(entry.job as Json | null, ({ kind, id, state }) => [['job', `${kind} ${id}, ${state}`]]),
  ...when(entry.wait as Json | null, ({ reason, detail, ends_when }) => [
    ['job waits', `${reason}: ${detail}`],
    ['until', ends_when],
  ]),
  ...listOf(entry.away).map(({ name, message }) => [`away ${name}`, message] as const),
  ['progress', percentOf(entry)],
  ...when(entry.stall as Json | null, ({ cause, message }) => [['stalled', `${cause}: ${message}`]]),
]

const placeLines = (entry: Json): readonly Line[] => [
  ['placement', entry.placement],
  ['target machine', entry.target_machine],
  ...listOf(entry.why_here).map(
    ({ what, value, because }) => [String(what), `${value}, by ${because}`] as const,
  ),
  ...((entry.script_log as string[]) ?? []).map((line) => ['script says', line] as const),
  ...listOf(entry.pending).map(
    ({ path, from, to }) => [`changed ${path}`, `${JSON.stringify(from)} -> ${JSON.stringify(to)}`] as const,
  ),
]

const choiceText = ({ verb, force, cleanup }: Json): string =>
  `${verb}${cleanup ? ' --cleanup' : ''}${force ? ' --force' : ''}`

/** Everything that an operator asks of an entry, a line each. */
export const printEntry = (output: Output, entry: Json): void => {
  const { window, effects } = entry as Record<string, Json | null>
  output.fields([
    ['id', entry.id],
    ['name', entry.name],
    ['batch', entry.batch],
    ['way', `${entry.source} to ${entry.target ?? 'nowhere yet'}`],
    ['state', `${entry.state}, stage ${entry.stage}`],
    ...when(entry.down as Json | null, ({ shutdown, times, because }) => [
      [shutdown ? 'source' : 'source off', times],
      [shutdown ? 'then' : 'off because', because],
    ]),
    ['since', entry.since],
    ...whyLines(entry),
    ['window', window ? `${window.name}${window.held ? '' : ' (would get it)'}` : ''],
    ...workLines(entry),
    ...when(entry.state === 'finished' ? (entry.source_off_at ?? entry.source_stopped_at) : null, (at) => [
      ['source off', `since ${at}, for good: its target took over`],
    ]),
    ...placeLines(entry),
    ['left outside', `${effects?.open} open, ${effects?.debts} debts`],
    ['certificate', entry.certificate_id],
    ...listOf(entry.choices).map((choice): Line => [`you can ${choiceText(choice)}`, choice.does]),
  ])
}
