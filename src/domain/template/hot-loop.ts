interface AskedVersion {
  readonly imageId: string
  /** Its swap failed; not so when a newer version took its place before. */
  readonly failed: boolean
}

/** So often the same image may fail in a row. */
export const mostFailuresInARow = 3

/**
 * Whether somebody asks again and again for what does not come to be live: another try would end like the last ones.
 * `history`: newest first.
 */
export const isHotLoop = (imageId: string, history: readonly AskedVersion[]): boolean => {
  const last = history.slice(0, mostFailuresInARow)
  return (
    last.length === mostFailuresInARow &&
    last.every((version) => version.imageId === imageId && version.failed)
  )
}
