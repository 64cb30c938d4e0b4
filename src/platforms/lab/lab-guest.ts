import { withinCall } from '../ports/call.ts'
import type { GuestPort } from '../ports/guest.ts'
import type { LabLink } from './lab-link.ts'
import { labPath } from './lab-path.ts'
import { guestAnswer, portsAnswer } from './protocol.ts'
import { wireLimits } from './wire-limits.ts'

export const labGuest = (link: LabLink): GuestPort => ({
  guest: async (call, machine) =>
    await link.find(call, { method: 'GET', path: labPath`/instances/${machine}/guest` }, guestAnswer),
  openPorts: (call, machine, ports) =>
    withinCall(call, async (signal) => {
      const open: number[] = []
      for (let from = 0; from === 0 || from < ports.length; from += wireLimits.ports) {
        const asked = ports.slice(from, from + wireLimits.ports)
        const path = labPath`/instances/${machine}/ports`
        const request = { method: 'GET', path, query: { ports: asked.join(',') } } as const
        const answer = await link.find({ ...call, signal }, request, portsAnswer)
        if (!answer.found) return answer
        open.push(...answer.value.open.filter((port) => asked.includes(port)))
      }
      return { found: true, value: open }
    }),
})
