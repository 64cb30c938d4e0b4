import { html } from 'hono/html'
import type { JobSummary } from '../../../api/resources/jobs/job-view.ts'
import { jobKinds } from '../../../domain/job/kinds/registry.ts'
import { jobStates } from '../../../domain/job/state.ts'
import { listPage } from '../../kit/list-page.ts'
import { emptyText } from '../../kit/pager.ts'
import type { Html } from '../../kit/view.ts'
import { jobTable } from './job-table.ts'

/** All jobs, the newest first, narrowed down by what the form asks. */
export const jobsPage = listPage<JobSummary>({
  title: 'Jobs',
  from: '/v1/jobs',
  asks: ['state', 'kind', 'lane', 'subject'],
  part: 'jobs',
  intro: ({ query }) => filterForm(query),
  list: (jobs, { nowMs, query }) =>
    jobTable({ label: 'Jobs', jobs, nowMs, empty: emptyText(query, 'There is no job yet.') }),
})

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
