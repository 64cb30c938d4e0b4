import { createLog, type Logger } from '../../src/process/log.ts'

const refuse = (said: unknown, message?: string): never => {
  const cause = typeof said === 'object' && said !== null && 'err' in said ? said.err : said
  throw new Error(`A warning that nobody expected: ${message ?? String(said)}`, { cause })
}

/** For what goes on in spite of trouble and only logs it: in a test that expects none, trouble is a failure. */
export const strictLog: Logger = Object.assign(createLog({ role: 'test', level: 'silent' }), {
  warn: refuse,
  error: refuse,
})
