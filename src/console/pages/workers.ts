import { html } from 'hono/html'
import { listWorkers, type WorkerLine } from '../../../db/queries/list-workers.ts'
import type { Page, PageContext } from '../page.ts'
import { ago, badge, duration, type Html, shortId, table } from '../view.ts'

const shownMax = 200

/** The processes of the fleet: those that live, and the ones that went last. */
export const workersPage = async ({ deps, nowMs }: PageContext): Promise<Page> => {
  const page = { before: undefined, limit: shownMax }
  const [live, gone] = await Promise.all([
    listWorkers(deps.db, { live: true, role: undefined }, page),
    listWorkers(deps.db, { live: false, role: undefined }, { ...page, limit: 20 }),
  ])
  const row = (worker: WorkerLine) => workerRow(worker, { leaseMs: deps.leaseMs, nowMs })
  const head = ['Process', 'Role', 'State', 'Host', 'Version', 'Runs', 'Heard of', 'Started']
  return {
    title: 'Workers',
    parts: [
      {
        id: 'live',
        title: 'The fleet',
        html: table({
          label: 'Processes',
          head,
          rows: live.map(row),
          empty: 'No process lives. Start one with: drover worker',
        }),
      },
      {
        id: 'gone',
        title: 'Gone lately',
        html: table({ label: 'Processes that are gone', head, rows: gone.map(row), empty: 'None.' }),
      },
    ],
  }
}

const workerRow = (worker: WorkerLine, options: { leaseMs: number; nowMs: number }): Html => {
  const silent = worker.stoppedAt === null && worker.silentMs > options.leaseMs
  const slots = Object.values(worker.slots).reduce((sum, count) => sum + count, 0)
  return html`<tr data-key="${worker.id}"><td><code title="${worker.id}">${shortId(worker.id)}</code></td>
<td>${worker.role}</td><td>${badge(silent ? 'silent' : worker.state)}</td>
<td class="long">${worker.host}, pid ${worker.pid}</td><td>${worker.version}</td>
<td class="nowrap">${worker.role === 'worker' ? `${worker.running} of ${slots} slots` : ''}</td>
<td class="nowrap">${worker.stoppedAt === null ? `${duration(worker.silentMs)} ago` : ago(worker.stoppedAt, options.nowMs)}</td>
<td class="nowrap">${ago(worker.startedAt, options.nowMs)}</td></tr>`
}
