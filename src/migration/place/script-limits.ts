/** What a placement script may use up for one instance, and in all. */
export const scriptLimits = {
  memoryBytes: 32 * 1024 * 1024,
  stackBytes: 256 * 1024,
  /** The interpreter asks every 10,000 steps whether it may go on; so many times it may. The same on any machine. */
  interrupts: 1_000,
  /** For what few steps can make long. A worker that shares its processor needs many times what it would need alone. */
  wallMs: 5_000,
  logLines: 100,
  logLineChars: 500,
  messageChars: 1_000,
  /** What the interpreter cannot interrupt is ended with its thread. */
  stallMs: 15_000,
} as const

/** The script's name in its own stack traces. */
export const scriptFile = 'placement.js'
