import { afterAll, onTestFinished, TestRunner } from 'vitest'

/**
 * Runs `undo` when what is going on now ends: the test, inside one; the file, at its top level. Last in,
 * first out. An error thrown by `undo` fails that test or file. Not for use inside `beforeAll`/`beforeEach`.
 */
export const atEnd = (undo: () => unknown, withinMs = 60_000): void => {
  if (TestRunner.getCurrentTest()) onTestFinished(async () => void (await undo()), withinMs)
  else afterAll(async () => void (await undo()), withinMs)
}
