import type { ASTNode } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import type { Fail } from './filter-error.ts'
import { maxPatternLength, maxPatternSize, maxPatterns, type Patterns } from './language.ts'

/** The patterns of one filter, checked and compiled. RE2: matching time is linear in the text for every pattern. */
export class PatternBook {
  readonly #patterns = new Map<string, RE2JS>()
  readonly #sizes = new Map<number, number>()
  readonly #fail: Fail
  readonly #mostInAll: number
  #inAll = 0

  /** `mostInAll`: the limit for the instructions of all patterns together. */
  constructor(fail: Fail, mostInAll: number) {
    this.#fail = fail
    this.#mostInAll = mostInAll
  }

  get patterns(): Patterns {
    return this.#patterns
  }

  /** Instructions of the pattern of a call, named by the position of the call. */
  sizeAt(start: number): number {
    return this.#sizes.get(start) ?? 0
  }

  add(call: ASTNode & { op: 'rcall' }): void {
    const argument = call.args[2][0]
    if (argument?.op !== 'value' || typeof argument.args !== 'string')
      this.#fail({
        at: argument?.start ?? call.start,
        summary: 'A pattern must be written out as text',
        expected: 'a text in quotes',
        remedy: 'Write name.matches("^web-[0-9]+$"); use contains for a part that is computed.',
      })
    const known = this.#patterns.size
    const size = this.#compile(argument.args, argument.start).programSize()
    if (this.#patterns.size > known) this.#inAll += size
    if (size > maxPatternSize)
      this.#fail({
        at: argument.start,
        summary: 'The pattern is too large',
        remedy: 'Use smaller repeat counts.',
      })
    if (this.#inAll > this.#mostInAll)
      this.#fail({
        at: argument.start,
        summary: 'The patterns are too large together',
        remedy: 'Use fewer or smaller patterns.',
        code: 'filter-too-expensive',
      })
    // Chained calls on the same value begin at the same position.
    this.#sizes.set(call.start, this.sizeAt(call.start) + size)
  }

  #compile(pattern: string, at: number): RE2JS {
    const known = this.#patterns.get(pattern)
    if (known) return known
    if (pattern.length > maxPatternLength)
      this.#fail({
        at,
        summary: `The pattern is longer than ${maxPatternLength} characters`,
        remedy: 'Split it in two.',
      })
    if (this.#patterns.size >= maxPatterns)
      this.#fail({
        at,
        summary: `There are more than ${maxPatterns} patterns`,
        remedy: 'Put some together with "|".',
      })
    try {
      const compiled = RE2JS.compile(pattern)
      this.#patterns.set(pattern, compiled)
      return compiled
    } catch (error) {
      const reason =
        error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error)
      return this.#fail({
        at,
        summary: `The pattern is none: ${reason}`,
        remedy: 'Patterns are RE2: no look-ahead, no back references; in "…" write \\\\d for \\d.',
      })
    }
  }
}
