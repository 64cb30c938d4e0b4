import { hostRequest, moveRequest } from '../../platforms/lab/protocol.ts'
import { absent, invalid } from '../model/refusal.ts'
import { dropSaved, getSaved } from '../store/saved.ts'
import { findTask, listTasks, taskAnswer } from '../store/tasks.ts'
import { abortMove } from '../tasks/move-tasks.ts'
import { beginTask } from './begin-task.ts'
import { parseAs, type SiteRoute } from './call.ts'

export const hibernateRoutes: readonly SiteRoute[] = [
  {
    method: 'POST',
    path: '/instances/:ref/save',
    call: 'save',
    handle: async (call) => await beginTask(call, { kind: 'save' }),
  },
  {
    method: 'GET',
    path: '/saved/:ref',
    call: 'saved',
    handle: async ({ lab, site, params }) => {
      const { ref, machine, content, digest } = await getSaved(lab.db, site.name, params.ref ?? '')
      return { status: 200, json: { ref, machine, size: content.length, digest, complete: true } }
    },
  },
  {
    method: 'GET',
    path: '/saved/:ref/content',
    call: 'saved-content',
    handle: async ({ lab, site, params }) => ({
      status: 200,
      bytes: (await getSaved(lab.db, site.name, params.ref ?? '')).content,
    }),
  },
  {
    method: 'DELETE',
    path: '/saved/:ref',
    call: 'saved-drop',
    handle: async ({ lab, site, params }) => {
      await dropSaved(lab.db, site.name, params.ref ?? '')
      return { status: 204 }
    },
  },
  {
    method: 'POST',
    path: '/saved/:ref/restore',
    call: 'restore',
    takes: 'json',
    handle: async (call) => {
      const state = await getSaved(call.lab.db, call.site.name, call.params.ref ?? '')
      const { host } = parseAs(hostRequest, call.body)
      return await beginTask(call, {
        kind: 'restore',
        machine: state.machine,
        args: { state: state.ref, host },
      })
    },
  },
  {
    method: 'POST',
    path: '/instances/:ref/move',
    call: 'move',
    takes: 'json',
    handle: async (call) => await beginTask(call, { kind: 'move', args: parseAs(moveRequest, call.body) }),
  },
  {
    method: 'POST',
    path: '/instances/:ref/move-check',
    call: 'move-check',
    takes: 'json',
    handle: async ({ tasks, site, params, body, caller }) => {
      const args = parseAs(moveRequest, body)
      await tasks.check({ site: site.name, kind: 'move', machine: params.ref ?? '', args, caller })
      return { status: 204 }
    },
  },
]

export const taskRoutes: readonly SiteRoute[] = [
  {
    method: 'GET',
    path: '/tasks/:id',
    call: 'task',
    handle: async ({ lab, site, params, now }) => {
      const task = await findTask(lab.db, site.name, params.id ?? '')
      if (!task) throw absent('such task')
      return { status: 200, json: taskAnswer(task, now) }
    },
  },
  {
    method: 'POST',
    path: '/tasks/:id/abort',
    call: 'abort',
    handle: async ({ lab, site, params, caller }) => ({
      status: 200,
      json: { outcome: await abortMove(lab, { site: site.name, id: params.id ?? '', caller }) },
    }),
  },
  {
    method: 'GET',
    path: '/tasks',
    call: 'tasks',
    handle: async ({ lab, site, query, now }) => {
      const which = { site: site.name, name: query.get('name') ?? '', machine: query.get('machine') ?? '' }
      if (which.name === '' && which.machine === '') throw invalid('Ask by "name" or by "machine".')
      const tasks = await listTasks(lab.db, which)
      return { status: 200, json: { tasks: tasks.map((task) => taskAnswer(task, now)) } }
    },
  },
]
