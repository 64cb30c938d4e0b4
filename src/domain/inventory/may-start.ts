/** Another machine known to be the same VM as the machine to be started. */
export interface Twin {
  /**
   * `copy`: made by a migration. `original`: the machine to be started is its copy. `same-uuid`: only the UUIDs are
   * equal.
   */
  readonly relation: 'copy' | 'original' | 'same-uuid'
  /** When the copy was certified; null: it was not, or it is no copy. */
  readonly provenAt: number | null
  /** `web-01 (vm-7) of lab-cloud`. */
  readonly called: string
  /** `gone`: its site was asked and does not have it. `unknown`: nobody can tell, or nobody has asked yet. */
  readonly power: 'on' | 'off' | 'suspended' | 'unknown' | 'gone'
  /** What may start it at any moment: `the operation 0192…`; null: nothing. */
  readonly starting: string | null
}

/** The machine to be started. */
export interface Starter {
  readonly called: string
  /** A copy that a migration made, certified or not. */
  readonly isCopy: boolean
  /** When it was certified; null: it was not. */
  readonly provenAt: number | null
  /** Started by a migration that has copied, verified or given up this very machine. */
  readonly byItsMigration: boolean
}

/** `asked`: at the request, by what was seen last. `now`: right before the call, by what was just seen. */
export type StartMoment = 'asked' | 'now'

export type StartRefusal = 'migrated' | 'unproven-copy' | 'runs-elsewhere' | 'starts-elsewhere'

export interface StartRefused {
  readonly code: StartRefusal
  /** A sentence that names the other machine. */
  readonly message: string
}

/**
 * Whether a machine may be started: never while another copy of the same VM runs, and never if a certified copy has
 * replaced it. Undefined: it may. The requester and force make no difference.
 */
export const whyNotStart = (
  self: Starter,
  twins: readonly Twin[],
  moment: StartMoment,
): StartRefused | undefined => {
  const others = twins.filter(({ power }) => power !== 'gone')
  // A VM may be migrated several times: the last certified copy counts.
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

/** Why it is the same VM: of two machines that only share a UUID, people may know better. */
const sameVm = ({ called, relation }: Twin): string =>
  relation === 'same-uuid'
    ? `${called} has the same UUID, so it counts as the same VM`
    : `${called} is the same VM`

/**
 * A machine that is not known to be off may run. Right before the call everything is looked at, so no old news counts.
 */
const mayRun = (self: Starter, twin: Twin, moment: StartMoment): boolean => {
  if (twin.power === 'on' || twin.power === 'suspended') return true
  return twin.power === 'unknown' && moment === 'now' && !isOutlived(self, twin)
}

/**
 * Whether the certificate of the machine to be started proves that the other one was off for good. Only then may the
 * other site be unreachable: the old platform of a finished migration is switched off one day, and its migrated
 * machines must still start.
 */
export const isOutlived = (self: Starter, { relation, provenAt }: Twin): boolean =>
  self.provenAt !== null && (relation === 'original' || (provenAt !== null && provenAt < self.provenAt))
