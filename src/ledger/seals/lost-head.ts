import type { SignedHead } from '../../seal/seal-head.ts'

/** What the conductor alone remembers of heads, out of reach of the database. */
export interface HeadsMemory {
  last?: SignedHead | undefined
  /**
   * A head that was handed out and that the chain no longer holds: no head is handed out until a person has decided.
   */
  lost?: SignedHead | undefined
}

/** What a lost head means and what ends it, for the log and /readyz; undefined when no head is lost. Names no path. */
export const lostHeadWords = (
  { lost }: HeadsMemory,
  options: { readonly file?: string | undefined },
): { readonly message: string; readonly remedy: string } | undefined => {
  if (!lost) return undefined
  const again =
    options.file === undefined
      ? 'start every conductor again'
      : 'move the file that DROVER_SEAL_HEADS_FILE names aside (keep it: it proves what was there before) and start every conductor again'
  return {
    message:
      `The chain of event seals does not hold head ${lost.seq}, which was handed out on ${new Date(lost.atMs).toISOString()}: ` +
      'the database was restored, or the chain was cut off or replaced. No head is handed out.',
    remedy: `If the database was restored: ${again}. If it was not, somebody has changed the history: drover events verify --head with that head says where.`,
  }
}
