import { taskAnswer } from '../store/tasks.ts'
import type { Answer, SiteCall } from './call.ts'

/** Starts a task, or finds it by its name. */
export const beginTask = async (
  call: SiteCall,
  work: { kind: string; machine?: string; args?: Record<string, unknown> },
): Promise<Answer> => {
  const task = await call.tasks.begin({
    site: call.site.name,
    kind: work.kind,
    machine: work.machine ?? call.params.ref ?? '',
    args: work.args ?? {},
    name: call.name,
    caller: call.caller,
  })
  return { status: 202, json: taskAnswer(task, call.now) }
}
