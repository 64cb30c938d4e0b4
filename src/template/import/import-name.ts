import { createHash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'

/**
 * The name of the intent on the platform. The name depends on the identity of the content: a platform that resumes an
 * earlier import must not join the halves of two archives. Without a mark nothing proves that the content is the
 * same, so each try has a new name.
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
