/** What every call of a platform takes. */
export interface Call {
  /** Ends the call; what the platform has already begun may still happen (`unknown`). */
  readonly signal: AbortSignal
  /** The call ends by itself after this, with an error that says so. */
  readonly timeoutMs: number
  /**
   * The name of this intent, the same on every try. A platform that has seen it does the thing once; one that
   * cannot remember names carries it along (task description, ownership tag), so that `find` can look for it.
   */
  readonly name: string
}

/** Runs `work` under the call's deadline and its signal, whichever ends first. */
export const withinCall = async <Result>(
  call: Call,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  call.signal.throwIfAborted()
  const deadline = new AbortController()
  const timer = setTimeout(
    () => deadline.abort(new DOMException(`No answer within ${call.timeoutMs} ms.`, 'TimeoutError')),
    call.timeoutMs,
  )
  try {
    return await work(AbortSignal.any([call.signal, deadline.signal]))
  } finally {
    clearTimeout(timer)
  }
}
