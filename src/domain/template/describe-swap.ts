import { describeMoves, describeStates, drawStateTable } from '../table/draw-state-table.ts'
import { fillPage } from '../table/fill-page.ts'
import { templateTable } from './state.ts'
import { type SwapRow, type SwapSeen, swapSteps, swapTable } from './swap-step.ts'

const columns = [
  'production',
  'temp',
  'old',
  'shelf',
  'inputs',
  'promotion',
] as const satisfies readonly (keyof SwapSeen)[]

const lineOf = ({ when, step }: SwapRow): string => {
  const cells = columns.map((key) => (when[key] ?? []).join(', '))
  return `| ${[...cells, `\`${step}\``, swapSteps[step]].join(' | ')} |`
}

/** The table of swaps, as a table of a document. An empty cell matches every value. */
const describeSwap = (): string =>
  [
    `| ${[...columns, 'Step', 'What it does'].join(' | ')} |`,
    `|${'---|'.repeat(columns.length + 2)}`,
    ...swapTable.map(lineOf),
  ].join('\n')

/** docs/templates.md with its made parts as they should be. */
export const fillTemplatesPage = (page: string): string =>
  fillPage(page, {
    swap: describeSwap(),
    states: [drawStateTable(templateTable), describeStates(templateTable), describeMoves(templateTable)].join(
      '\n\n',
    ),
  })
