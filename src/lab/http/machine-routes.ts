import {
  cloneRequest,
  machineChangeRequest,
  newMachineRequest,
  powerRequest,
  renameRequest,
  snapshotRequest,
} from '../../platforms/lab/protocol.ts'
import { wireLimits } from '../../platforms/lab/wire-limits.ts'
import { invalid, refuse } from '../model/refusal.ts'
import { getMachine, type Machine, nicsOf, saveMachine } from '../store/machines.ts'
import { changeSite } from '../store/sites.ts'
import { listSnapshots } from '../store/snapshots.ts'
import { counterAt } from '../tasks/power.ts'
import { beginTask } from './begin-task.ts'
import { type Answer, parseAs, type SiteCall, type SiteRoute } from './call.ts'
import { seenMachine } from './inventory-routes.ts'

/** Whether the guest is up and can be talked to. */
const isUp = (machine: Machine, now: number): boolean =>
  machine.power === 'on' &&
  machine.guest !== null &&
  machine.readyAt !== null &&
  machine.readyAt.getTime() <= now

const guestView = (machine: Machine, now: number) => {
  const { guest } = machine
  const up = isUp(machine, now)
  const talks = up && guest?.agent === 'running'
  return {
    agent:
      guest === null
        ? 'unknown'
        : talks
          ? 'running'
          : guest.agent === 'running'
            ? 'not-running'
            : guest.agent,
    hostname: talks ? guest.hostname : '',
    addresses: talks
      ? nicsOf(machine).flatMap((nic, index) =>
          nic.connected ? (guest.addresses[index] ?? []).map((address) => ({ mac: nic.mac, address })) : [],
        )
      : [],
    boot_id: machine.power === 'on' ? machine.bootId : '',
    counter: machine.power === 'on' ? counterAt(machine, now) : null,
  }
}

const askedPorts = (query: URLSearchParams): number[] => {
  const ports = (query.get('ports') ?? '')
    .split(',')
    .filter((text) => text !== '')
    .map(Number)
  if (ports.length > wireLimits.ports || ports.some((port) => !(port > 0 && port < 65_536)))
    throw invalid(`"ports" takes at most ${wireLimits.ports} port numbers.`)
  return ports
}

const mark =
  (template: boolean) =>
  async (call: SiteCall): Promise<Answer> => {
    const { lab, site, params, caller } = call
    await changeSite(lab, site.name, { why: caller }, async (change) => {
      const machine = await getMachine(change.tx, site.name, params.ref ?? '')
      if (machine.power !== 'off')
        throw refuse('platform-wrong-state', `"${machine.name}" is ${machine.power}.`, 'Stop it first.')
      if (!machine.complete)
        throw refuse(
          'platform-wrong-state',
          `"${machine.name}" is not complete.`,
          'Complete its image first.',
        )
      if (machine.template === template) return
      machine.template = template
      await saveMachine(change, machine)
    })
    return { status: 204 }
  }

export const machineRoutes: readonly SiteRoute[] = [
  {
    method: 'GET',
    path: '/instances/:ref/power',
    call: 'power',
    handle: async (call) => {
      const { power, host, runId } = await seenMachine(call)
      return { status: 200, json: { state: power, host, boot_id: power === 'on' ? runId : '' } }
    },
  },
  {
    method: 'POST',
    path: '/instances/:ref/power',
    call: (body) => powerRequest.safeParse(body).data?.verb ?? 'power-verb',
    takes: 'json',
    handle: async (call) => await beginTask(call, { kind: parseAs(powerRequest, call.body).verb }),
  },
  {
    method: 'GET',
    path: '/instances/:ref/guest',
    call: 'guest',
    handle: async (call) => ({ status: 200, json: guestView(await seenMachine(call), call.now) }),
  },
  {
    method: 'GET',
    path: '/instances/:ref/ports',
    call: 'ports',
    handle: async (call) => {
      const machine = await seenMachine(call)
      const reachable = isUp(machine, call.now) && nicsOf(machine).some((nic) => nic.connected)
      const open = reachable ? (machine.guest?.ports ?? []) : []
      return { status: 200, json: { open: askedPorts(call.query).filter((port) => open.includes(port)) } }
    },
  },
  {
    method: 'POST',
    path: '/instances',
    call: 'create',
    takes: 'json',
    handle: async (call) =>
      await beginTask(call, { kind: 'create', machine: '', args: parseAs(newMachineRequest, call.body) }),
  },
  {
    method: 'POST',
    path: '/instances/:ref/rename',
    call: 'rename',
    takes: 'json',
    handle: async (call) =>
      await beginTask(call, { kind: 'rename', args: parseAs(renameRequest, call.body) }),
  },
  {
    method: 'POST',
    path: '/instances/:ref/reconfigure',
    call: 'reconfigure',
    takes: 'json',
    handle: async (call) =>
      await beginTask(call, { kind: 'reconfigure', args: parseAs(machineChangeRequest, call.body) }),
  },
  {
    method: 'POST',
    path: '/instances/:ref/clone',
    call: 'clone',
    takes: 'json',
    handle: async (call) => await beginTask(call, { kind: 'clone', args: parseAs(cloneRequest, call.body) }),
  },
  {
    method: 'DELETE',
    path: '/instances/:ref',
    call: 'destroy',
    handle: async (call) => await beginTask(call, { kind: 'destroy' }),
  },
  { method: 'POST', path: '/instances/:ref/mark-template', call: 'mark-template', handle: mark(true) },
  { method: 'POST', path: '/instances/:ref/mark-machine', call: 'mark-machine', handle: mark(false) },
]

export const snapshotRoutes: readonly SiteRoute[] = [
  {
    method: 'GET',
    path: '/instances/:ref/snapshots',
    call: 'snapshots',
    handle: async ({ lab, site, params }) => {
      const { ref } = await getMachine(lab.db, site.name, params.ref ?? '')
      const snapshots = await listSnapshots(lab.db, site.name, ref)
      return {
        status: 200,
        json: {
          snapshots: snapshots.map(({ ref: snapshot, name, parent }) => ({ ref: snapshot, name, parent })),
        },
      }
    },
  },
  {
    method: 'POST',
    path: '/instances/:ref/snapshots',
    call: 'snapshot-create',
    takes: 'json',
    handle: async (call) =>
      await beginTask(call, { kind: 'snapshot-create', args: parseAs(snapshotRequest, call.body) }),
  },
  {
    method: 'POST',
    path: '/instances/:ref/snapshots/:snapshot/revert',
    call: 'snapshot-revert',
    handle: async (call) =>
      await beginTask(call, { kind: 'snapshot-revert', args: { snapshot: call.params.snapshot } }),
  },
  {
    method: 'DELETE',
    path: '/instances/:ref/snapshots/:snapshot',
    call: 'snapshot-remove',
    handle: async (call) =>
      await beginTask(call, { kind: 'snapshot-remove', args: { snapshot: call.params.snapshot } }),
  },
]
