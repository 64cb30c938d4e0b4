import { html } from 'hono/html'
import { type JobFilter, listJobs } from '../../../db/queries/list-jobs.ts'
import { readCursor, toPage, uuidKey } from '../../api/page.ts'
import { problem } from '../../api/problem.ts'
import { jobKinds } from '../../domain/job/registry.ts'
import { type JobState, jobStates } from '../../domain/job/state.ts'
import type { Page, PageContext } from '../page.ts'
import type { Html } from '../view.ts'
import { jobTable } from './job-table.ts'

const pageSize = 50

const filterOf = (query: URLSearchParams): JobFilter => {
  const state = query.get('state') || undefined
  if (state !== undefined && !(jobStates as readonly string[]).includes(state))
    throw problem('validation-failed', `There is no state "${state.slice(0, 40)}".`, { field: 'state' })
  const subject = query.get('subject') || undefined
  const slash = subject?.indexOf('/') ?? -1
  if (subject !== undefined && slash < 1)
    throw problem('validation-failed', 'A subject is type/id, such as batch/wave-1.', { field: 'subject' })
  return {
    state: state as JobState | undefined,
    kind: query.get('kind') || undefined,
    lane: query.get('lane') || undefined,
    subject:
      subject === undefined ? undefined : { type: subject.slice(0, slash), id: subject.slice(slash + 1) },
  }
}

/** All jobs, the newest first, narrowed down by what the form asks. */
export const jobsPage = async ({ deps, query, nowMs }: PageContext): Promise<Page> => {
  const filter = filterOf(query)
  const before = readCursor('jobs', uuidKey, query.get('cursor') || undefined)
  const rows = await listJobs(deps.db, filter, { before, limit: pageSize + 1 })
  const page = toPage(rows, { list: 'jobs', limit: pageSize, key: (row) => row.id, item: (row) => row })
  return {
    title: 'Jobs',
    intro: filterForm(query),
    parts: [
      {
        id: 'jobs',
        html: html`${jobTable({ label: 'Jobs', jobs: page.items, nowMs, empty: 'No job fits.' })}
${pager('/jobs', query, page.next_cursor)}`,
      },
    ],
  }
}

const backwards = { first: 'The newest', next: 'Older' }

/** The words of a pager where the list does not begin with what is newest. */
export const onwards = { first: 'The first', next: 'More' }

/** Links between pages. There is no way to one before: the browser's own way back is that. */
export const pager = (path: string, query: URLSearchParams, next: string | null, words = backwards): Html => {
  const first = new URLSearchParams(query)
  const onward = new URLSearchParams(query)
  first.delete('cursor')
  if (next !== null) onward.set('cursor', next)
  return html`<nav class="pager" aria-label="Pages">${
    query.has('cursor') ? html`<a href="${path}?${first.toString()}">${words.first}</a>` : ''
  } ${next === null ? '' : html`<a rel="next" href="${path}?${onward.toString()}">${words.next}</a>`}</nav>`
}

const option = (value: string, chosen: string | null): Html =>
  html`<option value="${value}"${value === chosen ? html` selected` : ''}>${value}</option>`

const filterForm = (
  query: URLSearchParams,
): Html => html`<form class="filter" method="get" action="/jobs" role="search">
<div><label for="f-state">State</label><select id="f-state" name="state"><option value="">any</option>
${jobStates.map((state) => option(state, query.get('state')))}</select></div>
<div><label for="f-kind">Kind</label><select id="f-kind" name="kind"><option value="">any</option>
${jobKinds.map(({ kind }) => option(kind, query.get('kind')))}</select></div>
<div><label for="f-lane">Lane</label><input id="f-lane" name="lane" value="${query.get('lane') ?? ''}" autocomplete="off"></div>
<div><label for="f-subject">Subject</label><input id="f-subject" name="subject" value="${query.get('subject') ?? ''}"
 placeholder="type/id" autocomplete="off"></div>
<button type="submit">Filter</button>
<a href="/jobs">Clear</a></form>`
