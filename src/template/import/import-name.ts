import { createHash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'

/**
 * The name of the intent on the platform. It holds what the bytes are of: a platform that goes on with an earlier import
 * must not join the halves of two archives. Without a mark nothing proves that they are the same, and each try is new.
 */
export const importName = (of: {
  readonly jobId: string
  readonly replicaId: string
  readonly mark: string | null
  readonly digest: string | null
  readonly capacities: Readonly<Record<string, number>>
}): string => {
  const { jobId, replicaId, mark, digest, capacities } = of
  const content = JSON.stringify([mark ?? uuidv7(), digest, capacities])
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
  return `${jobId}/import/${replicaId}/${hash}`
}
