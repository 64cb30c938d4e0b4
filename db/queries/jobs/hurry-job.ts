import type { Tx } from '../../client.ts'

/** Raises the priority of a job for which something at least as urgent waits. */
export const hurryJob = async (tx: Tx, jobId: string, priority: number): Promise<void> => {
  await tx`update job set priority = ${priority} where id = ${jobId}::uuid and priority < ${priority}`
}
