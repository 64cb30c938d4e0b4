/** A source whose guest was asked to shut down for a migration that no longer needs it off. */
export interface AskedGuest {
  readonly power: 'on' | 'off' | 'suspended' | 'gone'
  /** The boot that was asked still runs, as far as the platform tells boots apart. */
  readonly sameRun: boolean
  /** Milliseconds since the request. */
  readonly askedMs: number
  /** A person's last request since then was to switch it off. */
  readonly wantedOff: boolean
  /** Its migration has finished: a certified machine has replaced it. */
  readonly tookOver: boolean
  /**
   * `accounts`: an entry records that it is off because of it. `needs-it-off`: an entry relies on it and did not
   * switch it off.
   */
  readonly entry: 'accounts' | 'needs-it-off' | 'none'
}

/** `watch`: look again later. `give-up`: stop looking. `over`: nothing is left to do. */
export type AskedGuestStep = 'over' | 'watch' | 'give-up' | 'hold' | 'start'

/** A guest that has not shut down by then hangs: its owner has noticed, or will restart it some day. */
export const watchedMs = 24 * 3_600_000

/** The next step. The shutdown may happen until the boot that was asked has ended. */
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
