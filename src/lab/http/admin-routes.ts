import { z } from 'zod'
import { act, faultRule } from '../model/fault-rule.ts'
import { absent, invalid } from '../model/refusal.ts'
import { type Recorder, readCalls } from '../store/calls.ts'
import { addFault, listFaults, removeFault, removeFaults } from '../store/faults.ts'
import { findOverlaps, readPowerLog } from '../store/power-log.ts'
import { listSites } from '../store/sites.ts'
import { advanceTime, readWorld } from '../store/worlds.ts'
import { type ActOn, perform } from '../tasks/acts.ts'
import { editMachine, machineEdit, putBack, vanish } from '../tasks/edits.ts'
import type { Stalls } from '../tasks/stalls.ts'
import type { Tasks } from '../tasks/tasks.ts'
import { makeWorld, worldRequest } from '../worlds/make-world.ts'
import { type Answer, parseAs, wholeNumber } from './call.ts'

export interface AdminCall {
  readonly on: ActOn
  readonly tasks: Tasks
  readonly recorder: Recorder
  readonly stalls: Stalls
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly body: unknown
  /** Of the user at every site of a new world that names none. */
  readonly password: string
}

export interface AdminRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly handle: (call: AdminCall) => Promise<Answer>
}

const advance = z.object({
  ms: z
    .number()
    .int()
    .min(1)
    .max(10 * 365 * 86_400_000),
})

const overlaps = async ({ on, query }: AdminCall): Promise<Answer> => {
  const by = query.get('by') ?? 'uuid'
  if (by !== 'uuid' && by !== 'lineage') throw invalid('"by" is uuid or lineage.')
  const found = await findOverlaps(on.lab.db, {
    by,
    identity: query.get('identity') ?? '',
    connectedOnly: query.get('any_network') !== 'true',
  })
  const place = ({ site, machine }: { site: string; machine: string }) => ({ site, machine })
  return {
    status: 200,
    json: {
      overlaps: found.map(({ identity, first, second, from, to }) => ({
        identity,
        machines: [place(first), place(second)],
        from,
        to,
      })),
    },
  }
}

const worldRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/lab/world',
    handle: async ({ on }) => {
      const world = await readWorld(on.lab.db)
      if (!world) throw absent('world yet')
      const sites = await listSites(on.lab.db)
      return {
        status: 200,
        json: {
          world: world.name,
          seed: world.seed,
          pace: world.pace,
          ahead_ms: world.offsetMs,
          certificate: world.tls?.cert ?? null,
          sites: sites.map(({ name, kind, username, instanceId }) => ({
            name,
            kind,
            username,
            instance_id: instanceId,
          })),
        },
      }
    },
  },
  {
    method: 'POST',
    path: '/lab/worlds',
    handle: async ({ on, stalls, body, password }) => {
      const request = parseAs(worldRequest, body)
      await makeWorld(on.lab, { ...request, password: request.password ?? password })
      stalls.release()
      return { status: 201, json: { world: request.world } }
    },
  },
  {
    method: 'POST',
    path: '/lab/clock',
    handle: async ({ on, tasks, body }) => {
      const ahead = await advanceTime(on.lab.db, parseAs(advance, body).ms)
      await tasks.settle()
      return { status: 200, json: { ahead_ms: ahead } }
    },
  },
  {
    method: 'PATCH',
    path: '/lab/sites/:site/instances/:ref',
    handle: async ({ on, params, body }) => {
      const edit = parseAs(machineEdit, body)
      await editMachine(on.lab, { site: params.site ?? '', ref: params.ref ?? '' }, edit)
      return { status: 204 }
    },
  },
  {
    method: 'DELETE',
    path: '/lab/sites/:site/instances/:ref',
    handle: async ({ on, params }) => {
      await vanish(on.lab, { site: params.site ?? '', ref: params.ref ?? '' })
      return { status: 204 }
    },
  },
  {
    method: 'POST',
    path: '/lab/sites/:site/instances/:ref/put-back',
    handle: async ({ on, params }) => {
      await putBack(on.lab, { site: params.site ?? '', ref: params.ref ?? '' })
      return { status: 204 }
    },
  },
]

/** Each call looks at all of them. */
const faultsMax = 1_000

const faultRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/lab/faults',
    handle: async ({ on }) => ({ status: 200, json: { faults: await listFaults(on.lab.db) } }),
  },
  {
    method: 'POST',
    path: '/lab/faults',
    handle: async ({ on, body }) => {
      const rule = parseAs(faultRule, body)
      if ((await listFaults(on.lab.db)).length >= faultsMax)
        throw invalid(`There are at most ${faultsMax} faults at once; remove some first.`)
      return { status: 201, json: { id: await addFault(on.lab.db, rule) } }
    },
  },
  {
    method: 'DELETE',
    path: '/lab/faults',
    handle: async ({ on, stalls }) => {
      await removeFaults(on.lab.db)
      stalls.release()
      return { status: 204 }
    },
  },
  {
    method: 'DELETE',
    path: '/lab/faults/:id',
    handle: async ({ on, stalls, params }) => {
      const id = Number(params.id) || 0
      if (!(await removeFault(on.lab.db, id))) throw absent('such fault')
      stalls.release(id)
      return { status: 204 }
    },
  },
  {
    method: 'POST',
    path: '/lab/acts',
    handle: async ({ on, body }) => {
      await perform(on, parseAs(act, body))
      return { status: 204 }
    },
  },
]

const recordRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/lab/calls',
    handle: async ({ on, recorder, query }) => {
      await recorder.flush()
      const text = (name: string) => query.get(name) ?? ''
      const calls = await readCalls(on.lab.db, {
        after: wholeNumber(query, 'after', 0),
        limit: Math.min(wholeNumber(query, 'limit', 1_000), 10_000),
        site: text('site'),
        call: text('call'),
        machine: text('machine'),
        caller: text('caller'),
        name: text('name'),
      })
      return {
        status: 200,
        json: {
          calls: calls.map(({ wallAt, tookMs, ...call }) => ({ ...call, wall_at: wallAt, took_ms: tookMs })),
          next: calls.at(-1)?.n ?? null,
        },
      }
    },
  },
  {
    method: 'GET',
    path: '/lab/power',
    handle: async ({ on, query }) => {
      const entries = await readPowerLog(on.lab.db, {
        uuid: query.get('uuid') ?? '',
        lineage: query.get('lineage') ?? '',
        machine: query.get('machine') ?? '',
      })
      return {
        status: 200,
        json: { power: entries.map(({ runId, ...entry }) => ({ ...entry, run_id: runId })) },
      }
    },
  },
  { method: 'GET', path: '/lab/overlaps', handle: overlaps },
]

export const adminRoutes: readonly AdminRoute[] = [...worldRoutes, ...faultRoutes, ...recordRoutes]
