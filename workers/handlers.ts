import type { Db } from '../db/client.ts'
import type { CpuPool } from './cpu-pool.ts'
import type { Handler, Undoer } from './handler.ts'
import { createSelfTest } from './handlers/self-test.ts'
import { createSettleDebt } from './handlers/settle-debt.ts'

export interface HandlerSet {
  readonly handlers: ReadonlyMap<string, Handler>
  readonly undoers: ReadonlyMap<string, Undoer>
}

/** Every handler this version has. A new one is a file in `handlers/` and a line here. */
export const createHandlers = (world: Db, cpu: CpuPool): HandlerSet => {
  const undoers = new Map<string, Undoer>()
  const all = [createSelfTest(world, cpu), createSettleDebt(undoers)] as readonly Handler[]
  for (const handler of all)
    for (const [effectKind, undoer] of Object.entries(handler.undoers ?? {})) undoers.set(effectKind, undoer)
  return { handlers: new Map(all.map((handler) => [handler.kind.kind, handler])), undoers }
}
