import type { Tx } from '../../../db/client.ts'
import { enqueue, type NewJob } from '../../ledger/jobs/enqueue.ts'

interface Of {
  readonly target: string
  readonly by: string
}

/** One lane for each target, so the jobs of one target never take all slots of a kind. */
const laneOf = (target: string): string => `templates/${target}`

const send = async (tx: Tx, job: NewJob): Promise<string> => {
  const [sent] = await enqueue(tx, [job])
  if (!sent) throw new Error(`No job of the kind ${job.kind} was stored.`)
  return sent.id
}

export const sendImport = (
  tx: Tx,
  { imageId, replicaId, target, by }: Of & { readonly imageId: string; readonly replicaId: string },
): Promise<string> =>
  send(tx, {
    kind: 'import-ova',
    payload: { image_id: imageId, replica_id: replicaId },
    subject: { type: 'image', id: imageId },
    lane: laneOf(target),
    tokens: [`target-imports/${target}`],
    createdBy: by,
  })

export const sendSwap = (
  tx: Tx,
  { templateId, target, by }: Of & { readonly templateId: string },
): Promise<string> =>
  send(tx, {
    kind: 'swap-template',
    payload: { template_id: templateId },
    subject: { type: 'template', id: templateId },
    lane: laneOf(target),
    tokens: [`target/${target}`],
    createdBy: by,
  })

export const sendRemoval = (
  tx: Tx,
  {
    replicaId,
    subject,
    target,
    by,
  }: Of & { readonly replicaId: string; readonly subject: NewJob['subject'] },
): Promise<string> =>
  send(tx, {
    kind: 'remove-replica',
    payload: { replica_id: replicaId },
    subject,
    lane: laneOf(target),
    tokens: [`target/${target}`],
    idempotencyKey: `remove-replica/${replicaId}`,
    createdBy: by,
  })
