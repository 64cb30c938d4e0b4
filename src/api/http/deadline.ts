import { createMiddleware } from 'hono/factory'
import { problem } from '../wire/problem.ts'
import type { ApiEnv } from './env.ts'

const tooLate = (ms: number) =>
  problem('deadline-passed', `No answer within ${ms} ms.`, { retryAfterSeconds: 2 })

/**
 * Answers 503 when the rest of the way takes too long, so that a database that went silent never holds a
 * client. A stream has answered once it has begun, so it may stay open. What was begun goes on and may still commit;
 * that is what the Idempotency-Key is for. What was not begun by then is dropped (`once`).
 */
export const deadline = (ms: number) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        c.set('late', true)
        reject(tooLate(ms))
      }, ms)
    })
    const rest = next()
    // When the deadline wins, nobody else is left to hear of the rest's failure.
    rest.catch(() => {})
    try {
      await Promise.race([rest, late])
    } finally {
      clearTimeout(timer)
    }
  })
