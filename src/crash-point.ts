/**
 * Named points where a crash would hurt most. Tests set `DROVER_CRASH_POINTS` to a list such as
 * `kill:after-claim` or `stop:before-finish@3` (the third pass); everywhere else this is one comparison.
 */
export const crashPoints = [
  'before-claim',
  'after-claim',
  'before-intent',
  'mid-intent',
  'after-intent',
  'before-effect',
  'after-effect',
  'before-undo',
  'undo-before-change',
  'after-undo',
  'before-checkpoint',
  'after-checkpoint',
  'before-finish',
  'after-finish',
  'before-ack',
  'after-ack',
  'after-stage',
  'before-merge',
  'mid-merge',
  'after-merge',
  'before-extent',
  'after-extent',
  'target-before-start',
  'operation-gives-way',
  'operation-asked',
  'operation-entered',
  'operation-begun',
  'operation-ends',
  'operation-tick',
  'relay-before-publish',
  'relay-between-publish-and-mark',
  'relay-after-mark',
  'conductor-before-sweep',
  'conductor-mid-sweep',
  'conductor-after-sweep',
] as const

export type CrashPoint = (typeof crashPoints)[number]

interface Plan {
  readonly signal: 'SIGKILL' | 'SIGSTOP'
  passesLeft: number
}

const parsePlans = (text: string | undefined): Map<string, Plan> | undefined => {
  if (!text) return undefined
  return new Map(
    text.split(',').map((item) => {
      const match = /^(kill|stop):([a-z-]+)(?:@(\d+))?$/.exec(item)
      if (!match?.[2])
        throw new Error(`DROVER_CRASH_POINTS: "${item}" is not kill:<point> or stop:<point>@<pass>.`)
      return [
        match[2],
        { signal: match[1] === 'stop' ? 'SIGSTOP' : 'SIGKILL', passesLeft: Number(match[3] ?? 1) },
      ]
    }),
  )
}

const plans = parsePlans(process.env.DROVER_CRASH_POINTS)

let heard: ((name: CrashPoint) => void) | undefined

/** For a simulation: what it throws at a point ends the imagined process that comes there. */
export const hearCrashPoints = (hear: (name: CrashPoint) => void): void => {
  heard = hear
}

/** Ends or stops this very process here, if a test asked for it. */
export const crashPoint = (name: CrashPoint): void => {
  heard?.(name)
  const plan = plans?.get(name)
  if (!plan) return
  plan.passesLeft -= 1
  if (plan.passesLeft === 0) process.kill(process.pid, plan.signal)
}
