import { loginRequest, ownerRequest } from '../../platforms/lab/protocol.ts'
import { Refusal, refuse } from '../model/refusal.ts'
import { getMachine, ownedRefs, saveMachine } from '../store/machines.ts'
import { changeSite, closeSession, openSession, passwordFits } from '../store/sites.ts'
import { changesPage, fullPage, pageLimit, unreadable } from '../tasks/inventory-pages.ts'
import { checkReachable } from '../tasks/tasks.ts'
import { parseAs, type SiteCall, type SiteRoute } from './call.ts'

const asked = ({ site, query, caller, faults }: SiteCall) => ({
  site,
  caller,
  faults,
  page: query.get('page') ?? '',
  limit: pageLimit(query.get('limit')),
  scopes: query.getAll('scope'),
})

/** The machine of a call, if it can be looked at. */
export const seenMachine = async ({ lab, site, params }: SiteCall) => {
  const machine = await getMachine(lab.db, site.name, params.ref ?? '')
  await checkReachable({ tx: lab.db as never, site: site.name }, machine)
  return machine
}

export const inventoryRoutes: readonly SiteRoute[] = [
  {
    method: 'POST',
    path: '/session',
    call: 'login',
    takes: 'json',
    open: true,
    handle: async ({ lab, site, body, caller }) => {
      const { username, password } = parseAs(loginRequest, body)
      if (!passwordFits(site, username, password))
        throw refuse(
          'platform-authentication',
          'User name or password is wrong.',
          'Check both at the lab, then enter them anew.',
        )
      return { status: 201, json: { token: await openSession(lab.db, site.name, caller) } }
    },
  },
  {
    method: 'DELETE',
    path: '/session',
    call: 'logout',
    handle: async ({ lab, token }) => {
      await closeSession(lab.db, token)
      return { status: 204 }
    },
  },
  {
    method: 'GET',
    path: '/about',
    call: 'about',
    handle: async ({ site, now }) => ({
      status: 200,
      json: {
        product: site.product,
        version: site.version,
        instance_id: site.instanceId,
        now: new Date(now + site.skewMs).toISOString(),
      },
    }),
  },
  {
    method: 'GET',
    path: '/inventory',
    call: 'inventory',
    handle: async (call) => ({ status: 200, text: await fullPage(call.lab, asked(call)) }),
  },
  {
    method: 'GET',
    path: '/changes',
    call: 'changes',
    handle: async (call) => {
      const since = call.query.get('since') ?? ''
      return { status: 200, text: await changesPage(call.lab, { ...asked(call), since }) }
    },
  },
  {
    method: 'GET',
    path: '/instances/:ref',
    call: 'instance',
    handle: async (call) => {
      const machine = await seenMachine(call)
      if (machine.traits.unreadable !== undefined) throw new Refusal(unreadable(machine.traits.unreadable))
      return { status: 200, json: { facts: machine.facts } }
    },
  },
  {
    method: 'POST',
    path: '/instances/find-owned',
    call: 'find-owned',
    takes: 'json',
    handle: async ({ lab, site, body }) => {
      const { owner } = parseAs(ownerRequest, body)
      return { status: 200, json: { refs: await ownedRefs(lab.db, site.name, owner) } }
    },
  },
  {
    method: 'GET',
    path: '/instances/:ref/owner',
    call: 'owner',
    handle: async ({ lab, site, params }) => ({
      status: 200,
      json: { owner: (await getMachine(lab.db, site.name, params.ref ?? '')).owner },
    }),
  },
  {
    method: 'PUT',
    path: '/instances/:ref/owner',
    call: 'tag',
    takes: 'json',
    handle: async ({ lab, site, params, body, caller }) => {
      const { owner } = parseAs(ownerRequest, body)
      await changeSite(lab, site.name, { why: caller }, async (change) => {
        const machine = await getMachine(change.tx, site.name, params.ref ?? '')
        machine.owner = { ...machine.owner, ...owner }
        await saveMachine(change, machine)
      })
      return { status: 204 }
    },
  },
]
