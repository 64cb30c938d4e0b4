import { html } from 'hono/html'
import type { Member } from '../../../api/resources/migration/batch-instances.ts'
import { many } from '../../../domain/text/sentence.ts'
import { withQuery } from '../../kit/ask.ts'
import { stateBadge } from '../../kit/entry-shown.ts'
import type { Page, PageContext } from '../../kit/page.ts'
import { onwards, pager } from '../../kit/pager.ts'
import { outside, visible } from '../../kit/shown.ts'
import { type Html, table, tabs } from '../../kit/view.ts'
import { nameOfBatch } from './batch.ts'

interface MemberPage {
  readonly items: readonly Member[]
  readonly next_cursor: string | null
  readonly error_count: number
  readonly errors: readonly { readonly id: string; readonly message: string }[]
}

/** The expression is asked about every machine: what a person reads need not be newer than this. */
const everyMs = 15_000
const pageSize = '50'

const standings: readonly (readonly [value: string, text: string])[] = [
  ['', 'all'],
  ['matched', 'matched'],
  ['blocked', 'matched, but blocked'],
  ['conflict', 'for a person to decide'],
  ['conflict', 'in conflict'],
  ['excluded', 'excluded'],
]

/** Which machines a batch means and which it does not, each with every reason. */
export const batchInstancesPage = async (context: PageContext): Promise<Page> => {
  const { ask, query, path } = context
  const name = nameOfBatch(context)
  const [batch, found] = await Promise.all([
    ask<{ include_expression: string }>(`GET /v1/batches/${name}`),
    ask<MemberPage>(
      `GET ${withQuery(`/v1/batches/${name}/instances`, {
        standing: query.get('standing'),
        cursor: query.get('cursor'),
        limit: pageSize,
      })}`,
    ),
  ])
  return {
    title: `Machines of ${name}`,
    intro: html`<p>The batch <a href="/batches/${name}">${name}</a> means what
<code>${visible(batch.include_expression)}</code> is true of, as the machines are now.</p>
${tabs({ label: 'Which machines', path, query, name: 'standing', choices: standings })}`,
    wakesOn: (event) => event.subject.id === name || event.type === 'source.synced',
    everyMs,
    parts: [
      {
        id: 'members',
        html: html`${table({
          label: 'Machines',
          head: ['Name', 'Standing', 'Why', 'Its entry', 'Source'],
          empty:
            found.next_cursor === null
              ? 'None.'
              : 'None among those that could be looked at in time; there are more.',
          rows: found.items.map(memberRow),
        })}${unjudged(found)}${pager(path, query, found.next_cursor, onwards)}`,
      },
    ],
  }
}

const looks: Readonly<Record<string, string>> = {
  matched: 'fit',
  blocked: 'blocked',
  conflict: 'wary',
  excluded: 'unknown',
}

const memberRow = ({ id, name, source, standing, reasons, entry }: Member): Html => html`<tr data-key="${id}">
<th scope="row" class="long"><a href="/instances/${id}">${outside(name)}</a></th>
<td class="nowrap"><span class="badge is-${looks[standing] ?? 'unknown'}">${standing}</span></td>
<td class="long">${reasons.map(({ message }) => visible(message)).join(' ')}</td>
<td class="nowrap">${entry === null ? html`<span class="dim">none</span>` : html`<a href="/queue/${entry.id}">${stateBadge(entry.state)}<span class="sr"> entry of ${outside(name)}</span></a>`}</td>
<td class="nowrap"><a href="/sources/${source}">${source}</a></td></tr>`

/** A machine that the expression fails on is no match, and that is no small thing. */
const unjudged = ({ error_count: count, errors }: MemberPage): Html =>
  count === 0
    ? html``
    : html`<div class="problem"><p>The expression could not judge ${many(count, 'machine')}, which so belong${count === 1 ? 's' : ''} not to it:</p>
<ul class="reasons">${errors.map(({ id, message }) => html`<li><a href="/instances/${id}">${visible(message)}</a></li>`)}</ul></div>`
