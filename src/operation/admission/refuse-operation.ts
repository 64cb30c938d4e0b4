import type { OpenOperation } from '../../../db/queries/operations/operation-rows.ts'
import type { MachineRow } from '../../../db/schema/operation.ts'
import {
  type Admission,
  type AdmissionFacts,
  phaseToJudge,
  type Refusal,
} from '../../domain/operation/admission/admit.ts'
import { type OperationKind, variantText } from '../../domain/operation/kinds/kinds.ts'
import type { MachinePhase } from '../../domain/operation/kinds/phase.ts'
import { operationReasons } from '../../domain/operation/kinds/reasons.ts'
import { DroverError } from '../../errors.ts'
import type { OperationAsk } from './ask-operation.ts'

/** The `detail` of a refusal: the API answer, the metrics and the event are made from it. */
export interface RefusalDetail extends Record<string, unknown> {
  readonly machine_id: string
  readonly machine: string
  readonly kind: OperationKind
  readonly force: boolean
  /** The operation or the entry that blocks the request. */
  readonly blocker: string | null
}

export const machineGone = (ask: OperationAsk, machine: MachineRow | undefined): DroverError =>
  new DroverError({
    code: 'machine-gone',
    class: 'conflict',
    message: machine
      ? `${variantText(ask)} of ${machine.name}: it is gone from its target.`
      : `There is no machine ${ask.machineId}.`,
    remedy: operationReasons['machine-gone'].remedy,
    field: 'machine',
    detail: {
      machine_id: ask.machineId,
      machine: machine?.name ?? ask.machineId,
      kind: ask.kind,
      force: ask.force,
      blocker: null,
    } satisfies RefusalDetail,
  })

const fieldOf: Partial<Record<Refusal, string>> = {
  'not-for-run-policy': 'kind',
  'not-for-phase': 'kind',
  'host-unknown': 'params.host',
}

interface Refused {
  readonly machine: MachineRow
  readonly ask: OperationAsk
  readonly refusal: Extract<Admission, { admitted: false }>
  readonly open: readonly OpenOperation[]
  readonly facts: AdmissionFacts
}

export const refused = ({ machine, ask, refusal, open, facts }: Refused): DroverError => {
  const { reason, blocker } = refusal
  const text = operationReasons[reason]
  const field = fieldOf[reason]
  const detail: RefusalDetail = {
    machine_id: machine.id,
    machine: machine.name,
    kind: ask.kind,
    force: ask.force,
    blocker,
  }
  return new DroverError({
    code: reason,
    class: 'conflict',
    message: `${variantText(ask)} of ${machine.name}: ${text.title}.${whyRefused({ ask, refusal, open, facts })}`,
    remedy: text.remedy,
    detail,
    ...(field === undefined ? {} : { field }),
  })
}

/** The phase of the machine, in the words of a refusal. */
const phaseWords: Readonly<Record<MachinePhase, string>> = {
  pending: 'about to start, and could not begin to',
  starting: 'starting',
  running: 'running',
  migrating: 'moving to another host',
  stopping: 'stopping',
  stopped: 'stopped',
  hibernated: 'hibernated: wake it, with `cold` to give its memory up',
  paused: 'paused',
  degraded: 'degraded: when it was last looked at nobody could tell whether it runs. Sync its target',
}

const whyRefused = ({ ask, refusal, open, facts }: Omit<Refused, 'machine'>): string => {
  const { reason, blocker } = refusal
  if (reason === 'not-for-phase') return ` It is ${phaseWords[phaseToJudge(facts)]}.`
  if (reason === facts.startRefused?.code) return ` ${facts.startRefused.message}`
  if (reason === 'host-unknown') return ` It was to be ${JSON.stringify(ask.params.host)}.`
  if (reason === 'not-for-run-policy') return ` Its run policy is ${facts.policy}.`
  const other = open.find(({ id }) => id === blocker)
  if (other) return ` ${variantText(other)} ${other.id} is ${other.state}.`
  return blocker === null ? '' : ` See ${blocker}.`
}
