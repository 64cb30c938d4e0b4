import type { Tx } from '../../client.ts'

/** Something that matters so much waits for this job: it is not to come later than that would. */
export const hurryJob = async (tx: Tx, jobId: string, priority: number): Promise<void> => {
  await tx`update job set priority = ${priority} where id = ${jobId}::uuid and priority < ${priority}`
}
