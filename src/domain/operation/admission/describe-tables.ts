import { z } from 'zod'
import { tokenClasses } from '../../job/token.ts'
import { describeMoves, describeStates, drawStateTable, listed } from '../../table/draw-state-table.ts'
import { fillPage } from '../../table/fill-page.ts'
import { applicability, type RunPolicy, runPolicies } from '../kinds/applicability.ts'
import {
  type CompatibleWord,
  compatibleWord,
  compatibleWords,
  inProgress,
  moveKinds,
  otherKinds,
  progressWords,
} from '../kinds/compatible-words.ts'
import { type OperationVariant, operationKinds, operationVariants, variantText } from '../kinds/kinds.ts'
import { supersedes } from '../kinds/matrix.ts'
import { operationParams } from '../kinds/params.ts'
import { type OperationReason, operationReasons, type ReasonText } from '../kinds/reasons.ts'
import { operationTable } from '../kinds/state.ts'
import { usualTimes } from '../kinds/times.ts'

const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(...head), `|${'---|'.repeat(head.length)}`, ...rows.map((cells) => row(...cells))].join('\n')
const code = (text: string): string => `\`${text}\``

const paramNames = (kind: (typeof operationKinds)[number]): string => {
  const { properties = {}, required = [] } = z.toJSONSchema(operationParams[kind], { io: 'input' }) as {
    properties?: Record<string, unknown>
    required?: string[]
  }
  return Object.keys(properties)
    .map((name) => (required.includes(name) ? `${code(name)} (required)` : code(name)))
    .join(', ')
}

const kindRows = operationKinds.map((kind) => [
  code(kind),
  operationVariants.some((variant) => variant.kind === kind && variant.force) ? 'yes' : '',
  paramNames(kind),
  `${usualTimes[kind].deadlineSeconds / 60} min`,
  `${usualTimes[kind].waitSeconds / 3_600} h`,
])

/** Rows and columns without any supersede are described by a sentence. */
const givesWay = (older: OperationVariant): boolean =>
  operationVariants.some((newer) => supersedes(newer, older))
const takesPlace = (newer: OperationVariant): boolean =>
  operationVariants.some((older) => supersedes(newer, older))
const [older, newer] = [operationVariants.filter(givesWay), operationVariants.filter(takesPlace)]

const applicabilityRows = operationKinds.map((kind) => {
  const rule = applicability[kind]
  const forced = rule.forcedPhases ? `; with force also ${listed(rule.forcedPhases)}` : ''
  return [
    code(kind),
    `${listed(rule.phases)}${forced}`,
    ...runPolicies.map((policy: RunPolicy) => (rule.policies.includes(policy) ? 'yes' : '')),
  ]
})

const reasons: Readonly<Record<string, ReasonText>> = operationReasons

/** The name of a reason for an open operation of these kinds, and for a failed one. */
const wordCells = (reason: OperationReason, family: 'moves' | 'others'): string[] => {
  const word: CompatibleWord | typeof inProgress = compatibleWords[reason][family]
  const [kind = 'start'] = family === 'moves' ? moveKinds : otherKinds
  const shown =
    word === inProgress && family === 'others' ? 'that of its kind' : code(compatibleWord(kind, reason))
  return [shown, code(compatibleWord(kind, reason, true))]
}

const slotClasses = ['host-outbound-moves', 'host-inbound-moves', 'host-move-syncs', 'target-moves'] as const

/** The generated parts of docs/operations.md, by name. */
export const operationTables = (): Readonly<Record<string, string>> => ({
  kinds: table(['Kind', '`force`', '`params`', 'Usual deadline', 'Usual wait'], kindRows),
  matrix: [
    table(
      ['Older \\ newer', ...newer.map((variant) => code(variantText(variant)))],
      older.map((one) => [
        code(variantText(one)),
        ...newer.map((other) => (supersedes(other, one) ? 'takes its place' : '')),
      ]),
    ),
    '',
    `Whatever is not in this table is refused: nothing takes the place of ${operationVariants
      .filter((variant) => !givesWay(variant))
      .map((variant) => code(variantText(variant)))
      .join(', ')}.`,
  ].join('\n'),
  applicability: table(
    ['Kind', 'The machine is', ...runPolicies.map((policy) => code(policy))],
    applicabilityRows,
  ),
  states: [
    drawStateTable(operationTable),
    describeStates(operationTable),
    describeMoves(operationTable),
  ].join('\n\n'),
  reasons: table(
    ['Reason', 'What it means', 'What ends it, or what to do', 'Asked again later, it may succeed'],
    Object.entries(reasons).map(([reason, { title, remedy, retryable }]) => [
      ...[code(reason), title, remedy],
      retryable ? 'yes' : '',
    ]),
  ),
  words: [
    table(
      ['Reason', 'A move', 'A move that failed with it', 'Any other', 'Any other that failed with it'],
      (Object.keys(operationReasons) as OperationReason[]).map((reason) => [
        code(reason),
        ...wordCells(reason, 'moves'),
        ...wordCells(reason, 'others'),
      ]),
    ),
    '',
    `The word of its kind: ${otherKinds
      .map((kind) => `${code(kind)} ${code(progressWords[kind])}`)
      .join(', ')}.`,
  ].join('\n'),
  slots: table(
    ['Slot', 'What it bounds', 'How many'],
    slotClasses.map((name) => [
      code(`${name}/…`),
      tokenClasses[name]?.title ?? '',
      String(tokenClasses[name]?.limit ?? ''),
    ]),
  ),
})

/** docs/operations.md with its generated parts up to date. */
export const fillOperationsPage = (page: string): string => fillPage(page, operationTables())
