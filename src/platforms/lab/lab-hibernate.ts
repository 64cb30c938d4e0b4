import type { HibernatePort } from '../ports/hibernate.ts'
import { isAbsent } from '../ports/platform-error.ts'
import type { LabLink } from './lab-link.ts'
import { labPath } from './lab-path.ts'
import { findLabTask, startLabTask } from './lab-tasks.ts'
import { savedState } from './protocol.ts'

export const labHibernate = (link: LabLink): HibernatePort => ({
  findTask: (call, trace) => findLabTask(link, call, trace),
  save: async (call, machine) =>
    await startLabTask(link, call, { method: 'POST', path: labPath`/instances/${machine}/save` }),
  saved: async (call, ref) =>
    await link.find(call, { method: 'GET', path: labPath`/saved/${ref}` }, savedState),
  restore: async (call, state, { host }) =>
    await startLabTask(link, call, {
      method: 'POST',
      path: labPath`/saved/${state}/restore`,
      json: { host },
    }),
  dropSaved: async (call, ref) => {
    try {
      await link.send(call, { method: 'DELETE', path: labPath`/saved/${ref}` })
    } catch (error) {
      // It is to be gone, and it is.
      if (!isAbsent(error)) throw error
    }
  },
})
