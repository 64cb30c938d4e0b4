/** The limits of a placement script, for one instance and in total. */
export const scriptLimits = {
  memoryBytes: 32 * 1024 * 1024,
  stackBytes: 256 * 1024,
  /**
   * The interpreter asks every 10,000 steps whether to go on, at most this many times: the same limit on any machine.
   */
  interrupts: 1_000,
  /** For scripts whose few steps are slow. A worker on a busy processor needs many times the usual time. */
  wallMs: 5_000,
  logLines: 100,
  logLineChars: 500,
  messageChars: 1_000,
  /** A thread that the interpreter cannot interrupt is ended. */
  stallMs: 15_000,
} as const

/** The script's name in its own stack traces. */
export const scriptFile = 'placement.js'
