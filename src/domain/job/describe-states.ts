import { describeMoves, describeStates, drawStateTable } from '../table/draw-state-table.ts'
import { fillPage } from '../table/fill-page.ts'
import { jobTable } from './state.ts'

/** docs/jobs.md with its generated parts up to date. */
export const fillJobsPage = (page: string): string =>
  fillPage(page, {
    states: [drawStateTable(jobTable), describeStates(jobTable), describeMoves(jobTable)].join('\n\n'),
  })
