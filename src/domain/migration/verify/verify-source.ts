/**
 * Whether a disk of the source was written since its last copy, by change tracking; `unknown`: tracking cannot tell.
 */
export type DiskWritten = 'no' | 'yes' | 'unknown'

export interface SourceRun {
  /** It has run since it was switched off for the final import. */
  readonly ran: boolean
  readonly disks: readonly { readonly disk: string; readonly written: DiskWritten }[]
}

/** Why the copy is behind its source; undefined: it is not. Nothing overrides this. */
export const whyStale = ({ ran, disks }: SourceRun): string | undefined => {
  const written = disks.filter((one) => one.written === 'yes').map(({ disk }) => disk)
  if (written.length > 0) return `The source was written to after it was copied (disk ${written.join(', ')}).`
  if (!ran) return undefined
  const untold = disks.filter((one) => one.written === 'unknown').map(({ disk }) => disk)
  return untold.length > 0
    ? `The source has run since it was copied, and nothing proves that it wrote nothing (disk ${untold.join(', ')}).`
    : undefined
}
