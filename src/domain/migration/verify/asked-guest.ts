/** A source whose guest was asked to shut itself down for a migration that does not need it off any more. */
export interface AskedGuest {
  readonly power: 'on' | 'off' | 'suspended' | 'gone'
  /** What runs is the run that was asked, as far as the platform tells runs apart. */
  readonly sameRun: boolean
  /** Since it was asked. */
  readonly askedMs: number
  /** The last that a person has asked for since then is that it be off. */
  readonly wantedOff: boolean
  /** Its migration has finished: a certified machine has taken its place. */
  readonly tookOver: boolean
  /** `accounts`: an entry says that it is off for it. `needs-it-off`: one counts on it, and did not switch it off. */
  readonly entry: 'accounts' | 'needs-it-off' | 'none'
}

/** `watch`: look again later. `give-up`: nobody looks any more. `over`: nothing is left to do. */
export type AskedGuestStep = 'over' | 'watch' | 'give-up' | 'hold' | 'start'

/** A guest that has not gone down in this time hangs: its owner has long noticed, or restarts it some day. */
export const watchedMs = 24 * 3_600_000

/** What is left to do of the question. What we asked for may come about until the run that was asked has ended. */
export const decideAskedGuest = (seen: AskedGuest): AskedGuestStep => {
  const { power, sameRun, wantedOff, tookOver, entry, askedMs } = seen
  if (power === 'gone' || power === 'suspended' || wantedOff || tookOver) return 'over'
  if (power === 'on') {
    if (!sameRun) return 'over'
    return askedMs >= watchedMs ? 'give-up' : 'watch'
  }
  if (entry === 'accounts') return 'over'
  return entry === 'needs-it-off' ? 'hold' : 'start'
}
