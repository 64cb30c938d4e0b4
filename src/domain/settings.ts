import { z } from 'zod'
import { jobKinds } from './job/kinds/registry.ts'

/** A setting that a person may change while the fleet runs. Readers notice within seconds. */
export interface Setting {
  readonly name: string
  readonly title: string
  readonly unit: string
  readonly default: number
  readonly schema: z.ZodType<number>
}

const whole = (
  name: string,
  title: string,
  options: { unit: string; default: number; min: number; max: number },
): Setting => ({
  name,
  title,
  unit: options.unit,
  default: options.default,
  schema: z.int().min(options.min).max(options.max),
})

/**
 * The minimum age at which events are pruned, unless DROVER_EVENTS_KEPT_DAYS_MIN says otherwise. It is set outside the
 * database, so that nobody with write access to the settings can have recent events removed.
 */
export const eventsKeptDaysMin = 30

const concurrencyName = (kind: string): string => `concurrency-${kind}`

/** Every setting. A setting that is not stored has its default. */
export const settings: readonly Setting[] = [
  whole('retention-jobs-days', 'How long ended jobs are kept', {
    unit: 'days',
    default: 30,
    min: 1,
    max: 3_650,
  }),
  whole('retention-failed-jobs-days', 'How long failed jobs are kept', {
    unit: 'days',
    default: 90,
    min: 1,
    max: 3_650,
  }),
  whole('retention-events-days', 'How long events are kept', {
    unit: 'days',
    default: 365,
    min: 1,
    max: 36_500,
  }),
  whole('retention-workers-days', 'How long stopped and lost processes are listed', {
    unit: 'days',
    default: 7,
    min: 1,
    max: 365,
  }),
  whole('retention-operations-days', 'How long ended operations of machines are kept', {
    unit: 'days',
    default: 30,
    min: 1,
    max: 3_650,
  }),
  whole('operations-kept-per-machine', 'Ended operations kept of each machine, however old', {
    unit: 'operations',
    default: 10,
    min: 0,
    max: 1_000,
  }),
  whole('older-keeps-on-seconds', 'How long an ended operation may keep the next one waiting unnoticed', {
    unit: 'seconds',
    default: 120,
    min: 5,
    max: 86_400,
  }),
  whole('seal-head-minutes', 'How often the signed head of the event chain is handed out', {
    unit: 'minutes',
    default: 60,
    min: 1,
    max: 10_080,
  }),
  whole('relay-window', 'Bells out at most per kind', { unit: 'jobs', default: 4_000, min: 1, max: 100_000 }),
  ...jobKinds.map((kind) =>
    whole(concurrencyName(kind.kind), `${kind.title}: jobs at once in one worker process`, {
      unit: 'jobs',
      default: kind.concurrency,
      // To stop a kind altogether, pause it: a pause shows why nothing runs.
      min: 1,
      max: 1_000,
    }),
  ),
]

const byName = new Map(settings.map((setting) => [setting.name, setting]))

export const findSetting = (name: string): Setting | undefined => byName.get(name)

/**
 * The value in force. A stored value that no longer fits (from an older version, or written by hand) counts as not
 * set.
 */
export const settingValue = (stored: ReadonlyMap<string, unknown>, name: string): number => {
  const setting = byName.get(name)
  if (!setting) throw new Error(`There is no setting "${name}".`)
  const parsed = setting.schema.safeParse(stored.get(name))
  return parsed.success ? parsed.data : setting.default
}

/** How many jobs of a kind one worker process runs at once: as set live, else its own preset, else the kind's. */
export const concurrencySetting = (
  stored: ReadonlyMap<string, unknown>,
  kind: string,
  preset?: number,
): number => {
  const name = concurrencyName(kind)
  return !stored.has(name) && preset !== undefined ? preset : settingValue(stored, name)
}
