import type { PowerPort } from '../ports/power.ts'
import type { LabLink } from './lab-link.ts'
import { labPath } from './lab-path.ts'
import { findLabTask, startLabTask } from './lab-tasks.ts'
import { type PowerVerb, powerAnswer } from './protocol.ts'

export const labPower = (link: LabLink): PowerPort => {
  const begin =
    (verb: PowerVerb): PowerPort['start'] =>
    async (call, machine) =>
      await startLabTask(link, call, {
        method: 'POST',
        path: labPath`/instances/${machine}/power`,
        json: { verb },
      })
  return {
    findTask: (call, trace) => findLabTask(link, call, trace),
    power: async (call, machine) =>
      await link.find(call, { method: 'GET', path: labPath`/instances/${machine}/power` }, powerAnswer),
    start: begin('start'),
    shutdownGuest: begin('shutdown'),
    stop: begin('stop'),
    restart: begin('restart'),
    suspend: begin('suspend'),
  }
}
