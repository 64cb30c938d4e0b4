import { Transform, type TransformCallback } from 'node:stream'
import { answerInvalid, type RequestContext, timedOutWaiting } from './http-failure.ts'

export interface BodyLimits {
  readonly maxBytes: number
  /** In each such time at least `stallBytes` must come, or it is a drip that would keep us for ever. */
  readonly stallMs: number
  readonly stallBytes: number
}

/** The body of an answer on its way to us: never more than allowed, never slower than allowed. */
export class GuardedBody extends Transform {
  readonly #requestContext: RequestContext
  readonly #limits: BodyLimits
  readonly #timer: NodeJS.Timeout
  #total = 0
  #recent = 0
  #windowFrom = performance.now()

  constructor(requestContext: RequestContext, limits: BodyLimits) {
    super()
    this.#requestContext = requestContext
    this.#limits = limits
    this.#timer = setInterval(() => this.#look(), Math.max(5, limits.stallMs / 4))
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#total += chunk.length
    this.#recent += chunk.length
    if (this.#total > this.#limits.maxBytes) done(tooLarge(this.#requestContext, this.#limits.maxBytes))
    else done(null, chunk)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearInterval(this.#timer)
    done(error)
  }

  /** Time counts against the platform only while nothing lies here waiting for the consumer. */
  #look(): void {
    const { stallMs, stallBytes } = this.#limits
    if (this.writableEnded || this.readableLength > 0 || this.writableLength > 0) this.#beginWindow()
    else if (performance.now() - this.#windowFrom >= stallMs) {
      if (this.#recent < stallBytes)
        this.destroy(timedOutWaiting(this.#requestContext, `sent fewer than ${stallBytes} bytes`, stallMs))
      this.#beginWindow()
    }
  }

  #beginWindow(): void {
    this.#recent = 0
    this.#windowFrom = performance.now()
  }
}

export const tooLarge = (requestContext: RequestContext, maxBytes: number): Error =>
  answerInvalid(requestContext, `it is larger than ${maxBytes} bytes`)
