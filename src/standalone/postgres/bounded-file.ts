import { copyFileSync, fstatSync, ftruncateSync, openSync, renameSync, statSync } from 'node:fs'

/**
 * Opens a log for appending; one that has grown too big becomes `<path>.1` first. For files that another
 * process writes to through the descriptor.
 */
export const openBoundedLog = (path: string, maxBytes: number): number => {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > maxBytes) renameSync(path, `${path}.1`)
  return openSync(path, 'a', 0o600)
}

/** Cuts a log that is being written: the writer appends, so it goes on at the new end. */
export const cutIfTooBig = (path: string, descriptor: number, maxBytes: number): void => {
  if (fstatSync(descriptor).size <= maxBytes) return
  copyFileSync(path, `${path}.1`)
  ftruncateSync(descriptor, 0)
}
