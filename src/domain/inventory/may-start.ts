/** What is known, somewhere, to be the same VM as the machine that is to start. */
export interface Twin {
  /** `copy`: a migration of ours made it. `original`: what was to start is its copy. `same-uuid`: told by its UUID alone. */
  readonly relation: 'copy' | 'original' | 'same-uuid'
  /** Of a copy: when it was verified and took over. Null: it was not, or it is no copy. */
  readonly provenAt: number | null
  /** `web-01 (vm-7) of lab-cloud`. */
  readonly called: string
  /** `gone`: its place was asked, and does not have it. `unknown`: nobody can tell, or nobody has asked yet. */
  readonly power: 'on' | 'off' | 'suspended' | 'unknown' | 'gone'
  /** What may start it at any moment: `the operation 0192…`; null: nothing. */
  readonly starting: string | null
}

/** What the machine is that is to start. */
export interface Starter {
  readonly called: string
  /** It is a copy of ours, verified or not. */
  readonly isCopy: boolean
  /** When it was verified and took over; null: it was not. */
  readonly provenAt: number | null
  /** A migration of ours starts it, which has copied, verified or given up just this machine. */
  readonly byItsMigration: boolean
}

/** `asked`: before anything is done, by what was seen last. `now`: right before the call, by what was just seen. */
export type StartMoment = 'asked' | 'now'

export type StartRefusal = 'migrated' | 'unproven-copy' | 'runs-elsewhere' | 'starts-elsewhere'

export interface StartRefused {
  readonly code: StartRefusal
  /** A sentence that names the other machine. */
  readonly message: string
}

/**
 * Whether a machine may be started: never beside another running copy of the same VM, and never where a verified copy
 * has taken its place. Undefined: it may. Who asks does not matter, and neither does force.
 */
export const whyNotStart = (
  self: Starter,
  twins: readonly Twin[],
  moment: StartMoment,
): StartRefused | undefined => {
  const others = twins.filter(({ power }) => power !== 'gone')
  // A VM may be migrated on from where it was migrated to: the last one that was verified counts.
  const takenOver = others.find(({ provenAt }) => provenAt !== null && provenAt > (self.provenAt ?? 0))
  if (takenOver)
    return {
      code: 'migrated',
      message: `${self.called} was migrated: ${takenOver.called} has taken its place. Here it stays off.`,
    }
  const original = others.find(({ relation }) => relation === 'original')
  if (self.isCopy && self.provenAt === null && original && !self.byItsMigration)
    return {
      code: 'unproven-copy',
      message: `${self.called} is a copy that a migration made and did not verify. Its source ${original.called} is the machine that counts.`,
    }
  const starting = others.find((twin) => twin.starting !== null)
  if (starting)
    return {
      code: 'starts-elsewhere',
      message: `${sameVm(starting)}, and ${starting.starting} may start it at any moment.`,
    }
  const running = others.find((twin) => mayRun(self, twin, moment))
  if (!running) return undefined
  return {
    code: 'runs-elsewhere',
    message:
      running.power === 'unknown'
        ? `${sameVm(running)}, and nobody can tell whether it runs.`
        : `${sameVm(running)} and is ${running.power}: a VM never runs twice.`,
  }
}

/** What makes it the same VM: people may know better of two that only share a UUID. */
const sameVm = ({ called, relation }: Twin): string =>
  relation === 'same-uuid'
    ? `${called} has the same UUID, so it counts as the same VM`
    : `${called} is the same VM`

/** What is not known to be off may run. Before the call everything is looked at, so nothing is judged by old news then. */
const mayRun = (self: Starter, twin: Twin, moment: StartMoment): boolean => {
  if (twin.power === 'on' || twin.power === 'suspended') return true
  return twin.power === 'unknown' && moment === 'now' && !isOutlived(self, twin)
}

/**
 * Whether the certificate of what is to start says that the other one was off for good. Only such a place may be silent:
 * the old platform of a finished migration is switched off some day, and its machines must start all the same.
 */
export const isOutlived = (self: Starter, { relation, provenAt }: Twin): boolean =>
  self.provenAt !== null && (relation === 'original' || (provenAt !== null && provenAt < self.provenAt))
