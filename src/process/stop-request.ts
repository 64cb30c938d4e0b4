/** A request to end the process, from a signal or from the program itself. */
export interface StopRequest {
  readonly requested: boolean
  /** A second request came: unfinished work was cut short. */
  readonly forced: boolean
  readonly signal: AbortSignal
  /** Resolves at the first request. */
  readonly whenRequested: Promise<undefined>
  request(): void
  /** Called at a second request during the stop: end at once. */
  onSecond(act: () => void): void
}

/** One Ctrl-C may arrive twice within moments: from the terminal, and forwarded by npm. */
const sameRequestMs = 600
/** Grace period after the second SIGINT: killed processes get this long to end. */
const atOnceMs = 2_000

/**
 * Listens for SIGINT, SIGTERM and SIGHUP, and for the loss of a supervisor: its channel closes even when it
 * is killed without a word. A second signal ends the process at once, with exit code 130.
 */
export const listenForStop = (): StopRequest => {
  const stopping = new AbortController()
  const acts: (() => void)[] = []
  let firstAt: number | undefined
  let forced = false
  let resolve: (value: undefined) => void = () => {}
  const whenRequested = new Promise<undefined>((done) => {
    resolve = done
  })
  const request = () => {
    firstAt ??= performance.now()
    stopping.abort()
    resolve(undefined)
  }
  const again = () => {
    forced = true
    for (const act of acts) act()
    setTimeout(() => process.exit(130), acts.length > 0 ? atOnceMs : 0)
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (firstAt === undefined) request()
      else if (performance.now() - firstAt > sameRequestMs) again()
    })
  }
  process.once('disconnect', request)
  return {
    get requested() {
      return stopping.signal.aborted
    },
    get forced() {
      return forced
    },
    signal: stopping.signal,
    whenRequested,
    request,
    onSecond: (act) => acts.push(act),
  }
}
