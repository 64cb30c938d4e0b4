export interface UntilOptions {
  /** What is awaited, for the error: "the job to be canceled". */
  readonly what: string
  /** Patience, not a measurement: what never comes takes this long to fail. */
  readonly withinMs?: number
  /** Pause between two looks. */
  readonly everyMs?: number
}

/** Enough for a machine that does ten other things; nobody waits longer than it takes. */
const patienceMs = 120_000

/**
 * Looks again and again until `condition` gives something truthy, and returns that. A look that throws counts
 * as "not yet"; its error is shown when time is up.
 */
export const until = async <Value>(
  condition: () => Value | Promise<Value>,
  options: UntilOptions,
): Promise<NonNullable<Exclude<Value, false | '' | 0>>> => {
  const withinMs = options.withinMs ?? patienceMs
  const deadline = performance.now() + withinMs
  let last: unknown
  do {
    try {
      const value = await condition()
      if (value) return value as NonNullable<Exclude<Value, false | '' | 0>>
      last = value
    } catch (error) {
      last = error
    }
    await pause(options.everyMs ?? 20)
  } while (performance.now() < deadline)
  const seen = last instanceof Error ? `last look failed: ${last.message}` : `last look gave ${String(last)}`
  throw new Error(`Waited ${withinMs} ms for ${options.what}; ${seen}.`, {
    ...(last instanceof Error ? { cause: last } : {}),
  })
}

/** Fails when `promise` does not settle in time. For waits on signals, where polling has nothing to look at. */
export const settles = async <Value>(promise: Promise<Value>, options: UntilOptions): Promise<Value> => {
  const withinMs = options.withinMs ?? patienceMs
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`Waited ${withinMs} ms for ${options.what}; it did not come.`)),
      withinMs,
    )
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
