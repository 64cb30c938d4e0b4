import { html } from 'hono/html'
import type { WorkerView } from '../../../api/resources/fleet/workers.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { ago, badge, duration, type Html, shortId, table } from '../../kit/view.ts'

const shownMax = 200
const goneShown = 20

/** The processes of the fleet: those that live, and the ones that went last. */
export const workersPage = async ({ ask, nowMs }: PageContext): Promise<Page> => {
  const [live, gone] = await Promise.all([
    ask<{ items: WorkerView[] }>(`GET /v1/workers?live=true&limit=${shownMax}`),
    ask<{ items: WorkerView[] }>(`GET /v1/workers?live=false&limit=${goneShown}`),
  ])
  const row = (worker: WorkerView) => workerRow(worker, nowMs)
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
          rows: live.items.map(row),
          empty: 'No process lives. Start one with: drover worker',
        }),
      },
      {
        id: 'gone',
        title: 'Gone lately',
        html: table({ label: 'Processes that are gone', head, rows: gone.items.map(row), empty: 'None.' }),
      },
    ],
  }
}

const workerRow = (worker: WorkerView, nowMs: number): Html => {
  const silent = worker.stopped_at === null && !worker.live
  const slots = Object.values(worker.slots).reduce((sum, count) => sum + count, 0)
  return html`<tr data-key="${worker.id}"><td><code title="${worker.id}">${shortId(worker.id)}</code></td>
<td>${worker.role}</td><td>${badge(silent ? 'silent' : worker.state)}</td>
<td class="long">${worker.host}, pid ${worker.pid}</td><td>${worker.version}</td>
<td class="nowrap">${worker.role === 'worker' ? `${worker.running} of ${slots} slots` : ''}</td>
<td class="nowrap">${worker.stopped_at === null ? `${duration(worker.silent_ms)} ago` : ago(worker.stopped_at, nowMs)}</td>
<td class="nowrap">${ago(worker.started_at, nowMs)}</td></tr>`
}
