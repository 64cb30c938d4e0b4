/** What must be ended when the benchmark ends, however it ends. */
type Close = () => Promise<void>
const open = new Set<Close>()
const pids = new Set<number>()

/** Registers something to close; returns a function that closes it now, once. */
export const onClose = (close: Close): Close => {
  let closing: Promise<void> | undefined
  const once = () => {
    closing ??= close().finally(() => open.delete(once))
    return closing
  }
  open.add(once)
  return once
}

/**
 * Closes what is still open, newest first, so that a server outlives whoever uses it. One that cannot be closed
 * is named and does not keep the others open.
 */
export const closeAll = async (): Promise<void> => {
  for (const close of [...open].reverse())
    await close().catch((error: Error) => {
      process.stderr.write(`could not be closed: ${error.message}\n`)
    })
}

/** A process that must not outlive this one, whatever happens to it. */
export const ownProcess = (pid: number): void => void pids.add(pid)
export const disownProcess = (pid: number): void => void pids.delete(pid)

process.on('exit', () => {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It ended before us: that is what we wanted.
    }
  }
})
